package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// StreamOptions are the options of Stream: what to decide on and where to write the decisions.
type StreamOptions struct {
	Policy    storage.Location // the policy file
	In        storage.Location // features: a file, a folder of Parquet parts, or "-" for standard input
	Encoder   string           // encoder.json of the training table, or with Text or Image an encoder of these; In then has raw rows. Empty: In has features, or the policy has an encoder in front
	Text      string           // the column of raw rows, or field of JSONL objects, that contains the text; empty: rows are not texts
	Image     string           // the column or field that contains the path of an image, relative to In's folder; empty: rows are not images
	Decoder   string           // of images: standard, libjpeg-turbo or auto; empty: standard
	InFormat  string           // auto, parquet, csv or jsonl
	Out       storage.Location // decisions: a file, or "-" for standard output
	OutFormat string           // auto (by Out's extension, else CSV), parquet, csv or jsonl
	Scores    bool             // write the score of every pair, and what a policy by estimates expects of it
	Workers   int              // batches decided in parallel
	// Prices are how the prices differ from those that the policy was trained with, see Options.Prices.
	Prices    policy.PriceChange
	PriceFile storage.Location // see Options.PriceFile
}

// DefaultStreamOptions reads standard input, writes standard output and uses all cores.
func DefaultStreamOptions() StreamOptions {
	return StreamOptions{In: storage.File("-"), InFormat: "auto", Out: storage.File("-"), OutFormat: "auto", Workers: runtime.GOMAXPROCS(0)}
}

// Validate reports every problem at once.
func (o StreamOptions) Validate() error {
	var problems []error
	if o.Policy.IsZero() {
		problems = append(problems, errors.New("decide: no policy file is given"))
	}
	if o.In.IsZero() || o.Out.IsZero() {
		problems = append(problems, errors.New(`decide: input and output are files or "-"`))
	}
	if o.Workers < 1 {
		problems = append(problems, fmt.Errorf("decide: %d workers", o.Workers))
	}
	problems = append(problems, o.checkRaw()...)
	return errors.Join(append(problems, checkFormat("input", o.InFormat), checkFormat("output", o.OutFormat))...)
}

// checkRaw reports problems of the options for raw rows.
func (o StreamOptions) checkRaw() (problems []error) {
	if inputs := o.contents(); len(inputs) > 1 {
		problems = append(problems, fmt.Errorf("decide: rows are %ss, not both", strings.Join(inputs, "s or ")))
	}
	if raw := o.Encoder != "" || o.encoded(); raw && (o.InFormat == formatParquet || o.InFormat == formatJSONL && !o.encoded()) {
		problems = append(problems, fmt.Errorf("decide: raw rows must be csv, or jsonl for texts and images, not %s", o.InFormat))
	}
	switch {
	case o.Decoder != "" && o.Image == "":
		problems = append(problems, errors.New("decide: a decoder is only for images"))
	case checkDecoder(o.Decoder) != nil:
		problems = append(problems, checkDecoder(o.Decoder))
	}
	return problems
}

// fields are the fields of raw rows that go through an encoder, by what they contain; "" are none.
func (o StreamOptions) fields() map[string]string {
	return map[string]string{
		InputText:  o.Text,
		InputImage: o.Image,
	}
}

// contents lists what the fields contain that are named.
func (o StreamOptions) contents() (inputs []string) {
	for input, field := range o.fields() {
		if field != "" {
			inputs = append(inputs, input)
		}
	}
	slices.Sort(inputs)
	return inputs
}

// field is the one field that goes through an encoder.
func (o StreamOptions) field() string { return o.fields()[o.input()] }

// encoded reports whether one field of every row goes through an encoder.
func (o StreamOptions) encoded() bool { return len(o.contents()) > 0 }

// input is the kind of input.
func (o StreamOptions) input() string {
	switch inputs := o.contents(); {
	case len(inputs) > 0:
		return inputs[0]
	case o.Encoder != "":
		return InputRow
	}
	return InputFeatures
}

// Written is the format of the decisions: parquet, jsonl or csv.
func (o StreamOptions) Written(ctx context.Context) string { return written(ctx, o.Out, o.OutFormat) }

// Summary is the result of a run of Stream.
type Summary struct {
	Format  int              `json:"format"`
	Policy  string           `json:"policy"`
	Rows    int64            `json:"rows"`
	Seconds float64          `json:"seconds"`
	Chosen  map[string]int64 `json:"chosen"`            // rows per pair that was chosen at least once
	Absent  []string         `json:"absent,omitempty"`  // columns of raw rows that the policy uses and the file lacks
	Decoder string           `json:"decoder,omitempty"` // of images, with its version
	Trained string           `json:"trained,omitempty"` // the decoder of the images that the policy was trained on, if it is another

	ChangedFees []costs.FeeChange `json:"changed_fees,omitempty"` // of the input, if it has actions; decisions use the policy's fees
	Prices      *UsedPrices       `json:"prices,omitempty"`       // of an any-price policy
	Accepted    *int64            `json:"accepted,omitempty"`     // rows that the guarantee of the policy is about; absent: it has none
}

// usedPrices are nil for a policy with fixed prices.
func usedPrices(r *Router, without []policy.Part) *UsedPrices {
	if r.Info().Prices == nil {
		return nil
	}
	return NewUsedPrices(r.Info().Actions, r.Prices(), without)
}

// Stream decides on a file of rows and writes a file of decisions. Memory does not grow with the number of rows, and
// decisions are written in the order of the input. An output file appears when it is complete. On standard output, the
// rows decided before an error have been written.
//
// Errors about the input are *costs.DataError with file, row and column. rt should have been opened with one thread,
// because batches run in parallel.
func Stream(ctx context.Context, rt *ort.Runtime, o StreamOptions, stdin io.Reader, stdout io.Writer, p stage.Progress) (_ *Summary, err error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.checkStreams(rt, stdin, stdout); err != nil {
		return nil, err
	}
	if err := o.files(ctx, stdin, stdout).Check(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	p.Start(-1, "open policy and rows")
	defer p.Done()
	if o.Encoder, err = fetchEncoder(ctx, o.Encoder); err != nil {
		return nil, err
	}
	r, err := openFor(ctx, rt, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s := stream{router: r, workers: o.Workers, progress: p}
	done := &Summary{Format: 1, Policy: o.Policy.String(), Prices: usedPrices(r, o.Prices.Without)}
	src, err := openRows(ctx, r, o, stdin, done)
	if err != nil {
		return nil, err
	}
	done.ChangedFees = changedFees(src, r.Prices().In(r.Info().Actions))
	sink, err := openSink(ctx, o.Out, o.OutFormat, columnsOf(r.Info(), o.Scores), stdout)
	if err != nil {
		src.close()
		return nil, err
	}
	p.Start(src.rows(), "decide")
	if err := s.run(ctx, src, sink); err != nil {
		sink.abort()
		return nil, err
	}
	if err := sink.commit(); err != nil {
		return nil, err
	}
	done.Rows, done.Seconds, done.Chosen = s.done, time.Since(begin).Seconds(), s.chosen(r.Info().Actions)
	done.Accepted = s.acceptedRows()
	return done, nil
}

// checkStreams reports what is missing beside the options.
func (o StreamOptions) checkStreams(rt *ort.Runtime, stdin io.Reader, stdout io.Writer) error {
	switch {
	case rt == nil:
		return fmt.Errorf("decide: %w", ort.ErrNoRuntime)
	case o.In.String() == "-" && stdin == nil:
		return errors.New("decide: the input is standard input, but there is none")
	case o.Out.String() == "-" && stdout == nil:
		return errors.New("decide: the output is standard output, but there is none")
	}
	return nil
}

func (o StreamOptions) files(ctx context.Context, stdin io.Reader, stdout io.Writer) stage.Files {
	f := stage.Files{Reads: append(stage.NamedFiles(o.Policy, o.PriceFile), stage.ModelFiles(ctx, o.Encoder)...), Writes: []stage.Output{{Path: o.Out}}}
	if o.In.String() == "-" {
		f.Reads = append(f.Reads, stage.Input{Path: storage.File(standardInput), Info: stage.Standard(stdin)})
	} else {
		f.Reads = append(f.Reads, stage.Input{Path: o.In, Part: stage.Ending(".parquet"), Grow: true})
	}
	if o.Image != "" {
		f.Reads = append(f.Reads, stage.Input{Path: o.In.Dir(), Part: stage.Ending(stage.ImageEndings...), Big: true})
	}
	if o.Out.String() == "-" {
		f.Writes = nil
		if info := stage.Standard(stdout); info != nil {
			f.Writes = []stage.Output{{Path: storage.File("standard output"), Info: info}}
		}
	}
	return f
}
