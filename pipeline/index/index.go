package index

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/atomicfile"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// Options are the options of Run.
type Options struct {
	Pages    storage.Location // a folder of .jsonl files in FEVER's wiki-pages format, or one file
	Out      storage.Location
	Settings bm25.Settings
	Workers  int // 0: one per core
	Queries  []string
	Top      int // pages to show for each query
}

// DefaultOptions are the default ranking and five pages per query.
func DefaultOptions() Options {
	return Options{Settings: bm25.DefaultSettings(), Top: 5}
}

// Validate reports every problem at once.
func (o *Options) Validate() error {
	var problems []error
	if o.Top < 1 {
		problems = append(problems, fmt.Errorf("top is %d; at least 1 page is needed", o.Top))
	}
	if o.Workers < 0 {
		problems = append(problems, fmt.Errorf("workers is %d", o.Workers))
	}
	return errors.Join(append(problems, o.Settings.Validate())...)
}

// Report describes the index and the found pages. It is the JSON object of pipe index --json.
type Report struct {
	*bm25.Stats
	PagesPerSecond float64             `json:"pages_per_second"`
	Found          []inspect.FoundPage `json:"found,omitempty"`
}

// Run makes an index of pages, and searches it for the queries, if any.
func Run(ctx context.Context, o Options, p stage.Progress) (*Report, error) {
	return RunWith(ctx, o, p, bm25.Build)
}

// Check reports problems of the options, and an output that would replace a page.
func (o *Options) Check(ctx context.Context) error {
	if err := o.Validate(); err != nil {
		return &stage.OptionError{Err: err}
	}
	return o.files().Check(ctx)
}

// RunWith is Run with another builder of the index.
func RunWith(ctx context.Context, o Options, p stage.Progress, build func(context.Context, bm25.BuildOptions) (*bm25.Stats, error)) (*Report, error) {
	p = stage.OrQuiet(p)
	if err := o.Check(ctx); err != nil {
		return nil, err
	}
	if err := atomicfile.MakeFolderAt(ctx, o.Out); err != nil {
		return nil, err
	}
	if info, err := o.Out.Stat(ctx); err == nil && info.IsDir() {
		return nil, &costs.DataError{File: o.Out.String(), Msg: "is a folder; the index is one file"}
	}
	defer p.Done()
	s, err := build(ctx, bm25.BuildOptions{Pages: o.Pages, Out: o.Out, Settings: o.Settings, Workers: o.Workers, Progress: p})
	if err != nil {
		return nil, err
	}
	r := &Report{Stats: s, PagesPerSecond: float64(s.Header.Pages+s.Header.Skipped) / s.Seconds}
	if len(o.Queries) == 0 {
		return r, nil
	}
	made, err := o.Out.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	x, err := bm25.Open(made)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	r.Found, err = inspect.Search(x, o.Queries, o.Top)
	return r, err
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	h := &r.Header
	b := safetext.Titled(r.File, "index of pages, "+r.Digest)
	b.Add("pages", "%d, and %d without text", h.Pages, h.Skipped)
	b.Add("words", "%d, of which %d different", h.Words, h.Distinct)
	b.Add("size", "%.1f MB", float64(r.Bytes)/1e6)
	b.Add("time", "%.1f s, %.0f pages/s", r.Seconds, r.PagesPerSecond)
	inspect.AddFound(b, r.Found)
	return b.WriteText(w)
}

func (o Options) files() stage.Files {
	return stage.Files{Reads: []stage.Input{{Path: o.Pages, Part: stage.Ending(".jsonl"), Grow: true}}, Writes: []stage.Output{{Path: o.Out}}}
}
