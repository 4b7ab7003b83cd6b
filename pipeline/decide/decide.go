package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/costs"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// StreamOptions says what to decide on and where the decisions go.
type StreamOptions struct {
	Policy    string   // the policy file
	In        string   // features: a file, a folder of Parquet parts, or "-" for standard input
	Encoder   string   // encoder.json of the training table, or with Text or Image an encoder of these: In holds raw rows then; empty: features, or the policy has an encoder in front
	Text      string   // the column of raw rows, or field of JSONL objects, that holds the text; empty: rows are no texts
	Image     string   // likewise that holds the path of an image, relative to In's folder; empty: rows are no images
	Decoder   string   // of images: standard, libjpeg-turbo or auto; empty: standard
	InFormat  string   // auto, parquet, csv or jsonl
	Out       string   // decisions: a file, or "-" for standard output
	OutFormat string   // auto (by Out's extension, else CSV), parquet, csv or jsonl
	Without   []string // "expert=NAME" or "advice=NAME": pairs that must not be chosen
	Scores    bool     // write the score of every pair
	Workers   int      // batches decided side by side
}

// DefaultStreamOptions reads standard input, writes standard output and uses every core.
func DefaultStreamOptions() StreamOptions {
	return StreamOptions{In: "-", InFormat: "auto", Out: "-", OutFormat: "auto", Workers: runtime.GOMAXPROCS(0)}
}

// Validate reports every problem at once.
func (o StreamOptions) Validate() error {
	var problems []error
	if o.Policy == "" {
		problems = append(problems, errors.New("decide: no policy file named"))
	}
	if o.In == "" || o.Out == "" {
		problems = append(problems, errors.New(`decide: input and output are files or "-"`))
	}
	if o.Workers < 1 {
		problems = append(problems, fmt.Errorf("decide: %d workers", o.Workers))
	}
	problems = append(problems, o.checkRaw()...)
	return errors.Join(append(problems, checkFormat("input", o.InFormat), checkFormat("output", o.OutFormat))...)
}

// checkRaw reports what is wrong with the options for raw rows.
func (o StreamOptions) checkRaw() (problems []error) {
	if o.Text != "" && o.Image != "" {
		problems = append(problems, errors.New("decide: rows are texts or images, not both"))
	}
	if raw := o.Encoder != "" || o.encoded(); raw && (o.InFormat == formatParquet || o.InFormat == formatJSONL && !o.encoded()) {
		problems = append(problems, fmt.Errorf("decide: raw rows come as csv, texts and images as jsonl too, not %s", o.InFormat))
	}
	switch {
	case o.Decoder != "" && o.Image == "":
		problems = append(problems, errors.New("decide: a decoder is for images"))
	case o.Decoder != "" && !slices.Contains(pixel.DecoderNames, o.Decoder):
		problems = append(problems, fmt.Errorf("decide: unknown decoder %q; known are %s", o.Decoder, strings.Join(pixel.DecoderNames, ", ")))
	}
	return problems
}

// encoded tells whether one field of every row goes through an encoder.
func (o StreamOptions) encoded() bool { return o.Text != "" || o.Image != "" }

// input is what that field holds.
func (o StreamOptions) input() string {
	if o.Image != "" {
		return featurize.InputImage
	}
	return featurize.InputText
}

// Summary is what a run of Decide did.
type Summary struct {
	Format  int              `json:"format"`
	Policy  string           `json:"policy"`
	Rows    int64            `json:"rows"`
	Seconds float64          `json:"seconds"`
	Chosen  map[string]int64 `json:"chosen"`            // rows per pair that was chosen at least once
	Absent  []string         `json:"absent,omitempty"`  // columns of raw rows that the policy sees and the file lacks
	Decoder string           `json:"decoder,omitempty"` // of images, with its version
	Trained string           `json:"trained,omitempty"` // the decoder of the images that the policy was trained on, if it is another

	ChangedFees []costs.FeeChange `json:"changed_fees,omitempty"` // of the input, where it has actions; decisions are by the policy's
}

// Stream streams features through a policy. Memory does not grow with the number of rows, and decisions leave in the
// order of the input. An output file appears when it is complete; on standard output the rows decided so far have
// been written when an error ends the run.
//
// Errors about the input are *costs.DataError with file, row and column. rt should have been opened with one thread:
// batches, not operators, run side by side.
func Stream(ctx context.Context, rt *ort.Runtime, o StreamOptions, stdin io.Reader, stdout io.Writer, p stage.Progress) (*Summary, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files(stdin, stdout).Check(); err != nil {
		return nil, err
	}
	begin := time.Now()
	p.Start(-1, "open policy and rows")
	defer p.Done()
	file, err := ReadPolicy(o.Policy)
	if err != nil {
		return nil, err
	}
	if err := file.checkRaw(o); err != nil {
		return nil, err
	}
	decider, err := file.Open(rt)
	if err != nil {
		return nil, err
	}
	defer decider.Close()
	info := decider.Info()
	mask, err := policy.ParseWithout(info.Actions, o.Without)
	if err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("decide: %w", err)}
	}
	if len(o.Without) == 0 {
		mask = nil // the policy's own decision stands
	}
	done := &Summary{Format: 1, Policy: o.Policy}
	src, err := openRows(ctx, rt, o, stdin, file, done)
	if err != nil {
		return nil, err
	}
	done.ChangedFees = changedFees(src, info)
	sink, err := openSink(o, stdout, info.Actions)
	if err != nil {
		src.close()
		return nil, err
	}
	p.Start(src.rows(), "decide")
	s := stream{decider: decider, mask: mask, workers: o.Workers, progress: p}
	if err := s.run(ctx, src, sink); err != nil {
		sink.abort()
		return nil, err
	}
	if err := sink.commit(); err != nil {
		return nil, err
	}
	done.Rows, done.Seconds, done.Chosen = s.done, time.Since(begin).Seconds(), s.chosen(info.Actions)
	return done, nil
}

// openRows opens features, or raw rows where there is an encoder for them, and notes in done what it found out.
func openRows(ctx context.Context, rt *ort.Runtime, o StreamOptions, stdin io.Reader, file *PolicyFile, done *Summary) (featureSource, error) {
	switch {
	case o.encoded():
		return openEncoded(ctx, rt, o, stdin, file, done)
	case o.Encoder == "":
		return openFeatures(ctx, o.In, o.InFormat, stdin, file.Info)
	}
	return openRaw(ctx, o, stdin, file.Info.Actions, done)
}

// rowBatch is a run of rows: ids and features (len(ids) x dim).
type rowBatch struct {
	ids      []string
	features []float32
}

// featureSource hands out rows of known width. next returns io.EOF after the last row; its batch belongs to the
// caller. rows is the number of rows if the input tells it, else -1.
type featureSource interface {
	next() (*rowBatch, error)
	rows() int64
	close()
}

// decisionSink takes decisions in order. commit makes the output complete, abort drops it.
type decisionSink interface {
	write(ids []string, d *policy.Decisions) error
	commit() error
	abort()
}

// stream carries batches from a source over several workers to a sink.
type stream struct {
	decider  *policy.Decider
	mask     []bool
	workers  int
	progress stage.Progress
	done     int64
	counts   []int64
}

// job is one batch on its way; ready is closed when decisions or err are set.
type job struct {
	batch     *rowBatch
	decisions *policy.Decisions
	err       error
	ready     chan struct{}
}

// run reads, decides and writes at the same time. queue keeps the order and bounds what is in flight: each batch
// enters it before a worker may take it. Everything started here has ended when run returns, except a read of text
// that nothing can interrupt.
func (s *stream) run(ctx context.Context, src featureSource, sink decisionSink) error {
	ctx, cancel := context.WithCancel(ctx)
	queue, work := make(chan *job, 2*s.workers), make(chan *job)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.read(ctx, src, queue, work)
	}()
	if src.rows() >= 0 { // a file, which has an end, and perhaps a temporary one to remove
		defer func() { <-finished }()
	}
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() { s.work(ctx, work) })
	}
	defer workers.Wait()
	defer cancel()
	s.counts = make([]int64, s.decider.Info().Actions.Len())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case j, more := <-queue:
			if !more {
				return ctx.Err()
			}
			if err := s.write(ctx, j, sink); err != nil {
				return err
			}
		}
	}
}

// read feeds queue and work until the source ends, and closes both and the source.
func (s *stream) read(ctx context.Context, src featureSource, queue, work chan<- *job) {
	defer src.close()
	defer close(queue)
	defer close(work)
	for {
		batch, err := src.next()
		if errors.Is(err, io.EOF) {
			return
		}
		j := &job{batch: batch, err: err, ready: make(chan struct{})}
		select {
		case queue <- j:
		case <-ctx.Done():
			return
		}
		if err != nil {
			close(j.ready)
			return
		}
		select {
		case work <- j:
		case <-ctx.Done():
			return
		}
	}
}

// work decides on batches until there are no more or ctx ends, whichever comes first: the reader may be stuck in a
// read that never returns.
func (s *stream) work(ctx context.Context, work <-chan *job) {
	for {
		select {
		case <-ctx.Done():
			return
		case j, more := <-work:
			if !more {
				return
			}
			s.decide(ctx, j)
		}
	}
}

func (s *stream) decide(ctx context.Context, j *job) {
	defer close(j.ready)
	j.decisions, j.err = s.decider.Decide(ctx, j.batch.features, len(j.batch.ids))
	if j.err == nil && s.mask != nil {
		j.err = j.decisions.Masked(s.mask)
	}
	var row *policy.RowError
	if errors.As(j.err, &row) {
		j.err = &costs.DataError{Msg: fmt.Sprintf("decide: id %q", j.batch.ids[row.Row]), Err: row.Err}
	}
}

func (s *stream) write(ctx context.Context, j *job, sink decisionSink) error {
	select {
	case <-j.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.err != nil {
		return j.err
	}
	if err := sink.write(j.batch.ids, j.decisions); err != nil {
		return err
	}
	for _, i := range j.decisions.Action {
		s.counts[i]++
	}
	s.done += int64(len(j.batch.ids))
	s.progress.Add(int64(len(j.batch.ids)))
	return nil
}

func (s *stream) chosen(a *costs.Actions) map[string]int64 {
	names := make(map[string]int64)
	for i, n := range s.counts {
		if n > 0 {
			names[a.Name(i)] = n
		}
	}
	return names
}

func (o StreamOptions) files(stdin io.Reader, stdout io.Writer) stage.Files {
	f := stage.Files{Reads: append(stage.NamedFiles(o.Policy), stage.ModelFiles(o.Encoder)...), Writes: []stage.Output{{Path: o.Out}}}
	if o.In == "-" {
		f.Reads = append(f.Reads, stage.Input{Path: standardInput, Info: stage.Standard(stdin)})
	} else {
		f.Reads = append(f.Reads, stage.Input{Path: o.In, Part: stage.Ending(".parquet"), Grow: true})
	}
	if o.Image != "" {
		f.Reads = append(f.Reads, stage.Input{Path: filepath.Dir(o.In), Part: stage.Ending(stage.ImageEndings...), Big: true})
	}
	if o.Out == "-" {
		f.Writes = nil
		if info := stage.Standard(stdout); info != nil {
			f.Writes = []stage.Output{{Path: "standard output", Info: info}}
		}
	}
	return f
}
