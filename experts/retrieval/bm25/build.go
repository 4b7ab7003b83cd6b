package bm25

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// Progress receives the progress of a build. Its methods may be called concurrently.
type Progress = progress.Progress

// BuildOptions define an index. Workers and Memory do not change its bytes.
type BuildOptions struct {
	Pages    storage.Location // a folder with .jsonl files in FEVER's wiki-pages format, or one such file
	Out      storage.Location // the index
	Settings Settings
	Workers  int      // 0: one per core
	Memory   int64    // approximate bytes for pages before they are written; 0: defaultMemory
	Progress Progress // nil: no progress is reported
}

// defaultMemory is the default memory for pages while an index is built.
const defaultMemory = 512 << 20

// Stats describes what Build made.
type Stats struct {
	File    string  `json:"file"`
	Digest  string  `json:"digest"` // of the index
	Bytes   int64   `json:"bytes"`
	Header  Header  `json:"index"`
	Runs    int     `json:"runs"` // sorted runs
	Seconds float64 `json:"seconds"`
}

// Build makes an index. The file appears only when it is complete. The next
// build removes whatever a killed build leaves. Pages without text are counted
// and skipped. Bad pages are a *PageError.
func Build(ctx context.Context, o BuildOptions) (*Stats, error) {
	start := time.Now()
	s, err := build(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	s.Seconds = time.Since(start).Seconds()
	return s, nil
}

func build(ctx context.Context, o BuildOptions) (*Stats, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	src, err := openSource(ctx, o.Pages)
	if err != nil {
		return nil, err
	}
	g := &gathering{source: src, options: &o}
	defer g.Close()
	if err := g.gather(ctx); err != nil {
		return nil, err
	}
	return g.finish(ctx)
}

// finish is the second half of a build.
func (g *gathering) finish(ctx context.Context) (*Stats, error) {
	if g.pages() == 0 {
		return nil, &PageError{File: g.options.Pages.String(), Msg: fmt.Sprintf("has no page with text (%d are empty)", g.skipped)}
	}
	return g.publish(ctx)
}

// complete checks the options and fills in what is not set.
func (o *BuildOptions) complete() error {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	return o.Settings.Validate()
}

// publish writes the index and renames it to its path.
func (g *gathering) publish(ctx context.Context) (*Stats, error) {
	out := g.options.Out
	f, err := atomicfile.CreateAt(ctx, out)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", out, err)
	}
	defer f.Cleanup()
	w := &writer{gathering: g, file: f.File}
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	x, err := open(f.Name())
	if err != nil {
		return nil, err
	}
	defer x.Close()
	g.options.Progress.Start(-1, "read back")
	defer g.options.Progress.Done()
	if err := x.Verify(ctx); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	s := &Stats{File: out.String(), Digest: x.Digest(), Bytes: x.size, Header: x.Header(), Runs: len(g.runs)}
	return s, f.CloseAtomicallyReplace()
}

// gathering is the first half of a build: pages become sorted runs.
type gathering struct {
	source  *source
	options *BuildOptions

	mu      sync.Mutex
	spills  []*spill
	runs    []*run
	skipped int
	digest  string // of the source
	failed  error  // the first error in the order of the pages
	at      int    // index of its piece
}

// gather reads all pages.
func (g *gathering) gather(ctx context.Context) error {
	g.options.Progress.Start(g.source.bytes, "read pages")
	defer g.options.Progress.Done()
	type job struct {
		piece
		index int
	}
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range g.options.Workers {
		w := &gatherer{gathering: g, block: newBlock(g.options.Settings)}
		workers.Go(func() {
			for j := range jobs {
				if err := w.take(j.piece); err != nil {
					g.fail(err, j.index)
				}
				g.options.Progress.Add(int64(len(j.data)))
			}
			if err := w.flush(); err != nil {
				g.fail(err, int(^uint(0)>>1))
			}
		})
	}
	index := 0
	digest, err := g.source.read(ctx, func(p piece) bool {
		jobs <- job{p, index}
		index++
		return g.failure() == nil
	})
	close(jobs)
	workers.Wait()
	g.digest = digest
	if failed := g.failure(); failed != nil {
		return failed
	}
	return err
}

// fail keeps the error of the earliest piece: the same pages give the same error.
func (g *gathering) fail(err error, index int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil || index < g.at {
		g.failed, g.at = err, index
	}
}

func (g *gathering) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

func (g *gathering) pages() (n int) {
	for _, r := range g.runs {
		n += r.pages
	}
	return n
}

// Close frees the temporary files.
func (g *gathering) Close() {
	for _, s := range g.spills {
		s.Close()
	}
}

// gatherer is a worker of a gathering.
type gatherer struct {
	*gathering
	block   *block
	spill   *spill
	skipped int
}

// take reads the pages of a piece.
func (w *gatherer) take(p piece) error {
	err := p.lines(func(line int, text []byte) error {
		page, err := parsePage(text)
		if err != nil {
			return &PageError{File: w.source.files[p.file].String(), Line: line, Msg: err.Error()}
		}
		if page.Text == "" {
			w.skipped++
			return nil
		}
		w.block.add(page, place{uint32(p.file), uint32(line)})
		return nil
	})
	if err != nil {
		return err
	}
	if w.block.full(w.options.Memory / int64(w.options.Workers)) {
		return w.write()
	}
	return nil
}

// write makes the block a run.
func (w *gatherer) write() error {
	if w.spill == nil {
		s, err := newSpill(w.options.Out)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.spills, w.spill = append(w.spills, s), s
		w.mu.Unlock()
	}
	r, err := w.block.write(w.spill)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.runs = append(w.runs, r)
	w.mu.Unlock()
	w.block = newBlock(w.options.Settings)
	return nil
}

// flush ends the work.
func (w *gatherer) flush() error {
	w.mu.Lock()
	w.gathering.skipped += w.skipped
	w.mu.Unlock()
	if len(w.block.pages) == 0 {
		return nil
	}
	return w.write()
}
