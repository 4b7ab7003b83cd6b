package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// RunOptions are the options of Run.
type RunOptions struct {
	Options
	Policy   storage.Location // the policy file
	Baseline storage.Location // cost tensor: a Parquet file or a folder of parts
	In       storage.Location // new rows: a tensor, or a log as Parquet, CSV, TSV or JSON lines
	Text     string           // the column with the text, for an encoder of texts; empty: rows are not texts
	Image    string           // the column with the path of an image, relative to the folder of In; empty: rows are not images
	Out      storage.Location // folder for monitor.json and monitor.html; empty: none
	State    storage.Location // file from which the tests of outcomes continue and to which they are saved; empty: none
	Device   ort.Config
}

// DefaultRunOptions are DefaultOptions on the CPU.
func DefaultRunOptions() RunOptions {
	return RunOptions{Options: DefaultOptions(), Device: ort.DefaultConfig()}
}

// mostTimed is the most outcomes with times that are sorted.
const mostTimed = 50_000_000

// Run compares a file of new rows with the baseline of a policy. If another run is using the folder Out, the error is a
// *stage.InUseError.
func Run(ctx context.Context, o RunOptions, p stage.Progress) (*Status, error) {
	p = stage.OrQuiet(p)
	if err := errors.Join(o.Validate(), o.checkRaw()); err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	o.Raw = o.Text != "" || o.Image != "" || o.Encoder != ""
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*Status, error) { return run(ctx, o, p) })
}

// checkRaw reports options of raw rows that exclude each other.
func (o RunOptions) checkRaw() error {
	switch {
	case o.Text != "" && o.Image != "":
		return errors.New("monitor: rows are texts or images, not both")
	case o.Decoder != "" && o.Image == "":
		return errors.New("monitor: a decoder is only for images")
	}
	return nil
}

// rawColumns returns the columns from which features are computed; nil: the file has features. The error is a
// *stage.OptionError for options that do not fit the policy.
func (o RunOptions) rawColumns(r *decide.Router) (*rawColumns, error) {
	if !o.Raw {
		return nil, nil
	}
	c := &rawColumns{router: r, field: cmp.Or(o.Text, o.Image), folder: o.In.Dir()}
	want := decide.InputRow
	if o.Text != "" {
		want = decide.InputText
	} else if o.Image != "" {
		want = decide.InputImage
	}
	if r.Input() != want {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: its input is %s, not %s: --text and --image name the column of texts and images, --encoder the encoder", o.Policy, r.Input(), want)}
	}
	return c, nil
}

func (o RunOptions) files(ctx context.Context) stage.Files {
	f := stage.Files{Reads: slices.Concat(stage.NamedFiles(o.Policy, o.PriceFile), stage.ModelFiles(ctx, o.Encoder), stage.TensorFiles(ctx, o.Baseline, o.Actions))}
	if o.Image != "" {
		f.Reads = append(f.Reads, stage.Input{Path: o.In.Dir(), Part: stage.Ending(stage.ImageEndings...), Big: true})
	}
	f.Reads = append(f.Reads, stage.Input{Path: o.In, Part: stage.Ending(".parquet", ".jsonl", ".ids"), Grow: true})
	if !o.State.IsZero() {
		f.Writes = append(f.Writes, stage.Output{Path: o.State})
	}
	if !o.Out.IsZero() {
		f.Writes = append(f.Writes, stage.Output{Path: o.Out, Patterns: Patterns})
	}
	return f
}

func run(ctx context.Context, o RunOptions, p stage.Progress) (_ *Status, err error) {
	rt, err := ort.Open(o.Device)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	o.Runtime = rt
	o.LossAlone = o.LossAlone || !hasFees(ctx, o.In, o.Raw)
	p.Start(-1, "read baseline")
	defer p.Done()
	m, err := Open(ctx, o.Policy, o.Baseline, o.Options)
	var staged *policy.CascadeError
	if errors.As(err, &staged) {
		return runCascade(ctx, rt, o, err, p)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	inputs, err := m.continueFrom(ctx, o)
	if err != nil {
		return nil, err
	}
	raw, err := o.rawColumns(m.router)
	if err != nil {
		return nil, err
	}
	if err := m.addFile(ctx, o.In, raw, p); err != nil {
		return nil, err
	}
	p.Start(-1, "compare")
	s := m.Status()
	if !o.Out.IsZero() {
		if err := Write(ctx, o.Out, s); err != nil {
			return nil, err
		}
	}
	if o.State.IsZero() {
		return s, nil
	}
	m.NewWindow() // the next run tests its inputs and decisions alone
	return s, atomicfile.WriteAt(ctx, o.State, func(w io.Writer) error { return m.save(w, inputs) })
}

// continueFrom restores the state, if there is one, and returns the digests of the files that it has seen and of the new
// one.
func (m *Monitor) continueFrom(ctx context.Context, o RunOptions) (inputs []string, err error) {
	switch {
	case o.State.IsZero():
		return nil, nil
	case decisionlog.IsLog(o.In.String()):
		return nil, &stage.OptionError{Err: fmt.Errorf("--state counts every row once, but the decision log %q has old rows and new ones: leave --state out", o.In)}
	}
	f, err := o.State.Open(ctx)
	if err == nil {
		defer f.Close()
		if inputs, err = m.restore(f); err != nil {
			return nil, inFile(o.State.String(), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d, err := fileDigest(ctx, o.In)
	if err != nil {
		return nil, err
	}
	if slices.Contains(inputs, d) {
		return nil, &stage.OptionError{Err: fmt.Errorf("the state %q has these rows already: %q would count twice", o.State, o.In)}
	}
	return append(inputs, d), nil
}

// inFile adds the name of the file to an error about a state.
func inFile(file string, err error) error {
	var data *costs.DataError
	if !errors.As(err, &data) {
		return fmt.Errorf("%q: %w", file, err)
	}
	return fmt.Errorf("read state: %w", &costs.DataError{File: file, Err: data.Err})
}

// fileDigest is the digest of a file, or of the parts of a folder.
func fileDigest(ctx context.Context, path storage.Location) (string, error) {
	files := []storage.Location{path}
	if stage.IsFolder(ctx, path) {
		var err error
		if files, _, err = parquetfile.Parts(ctx, path); err != nil {
			return "", err
		}
	}
	h := digest.New()
	for _, name := range files {
		f, err := name.Open(ctx)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return digest.Sum(h), nil
}

// addFile decides on the rows of a file and adds them. Outcomes with times are added in the order of these at the end.
func (m *Monitor) addFile(ctx context.Context, path storage.Location, raw *rawColumns, p stage.Progress) (err error) {
	src, err := openLog(ctx, path, m.router.Info(), raw, m.feesCount())
	if err != nil {
		return err
	}
	defer src.close()
	m.current = NewInfo{File: path.Base(), Order: "file"}
	if src.timed() {
		m.current.Order = "time"
	}
	p.Start(src.rows(), "read rows")
	var later []Outcome
	assumed := false
	for {
		rows, err := src.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		outcomes, err := m.addRows(ctx, path.String(), rows, src.timed())
		if err != nil {
			return err
		}
		assumed = assumed || rows.loss != nil && rows.executed == nil
		if later = append(later, outcomes...); len(later) > mostTimed {
			return &costs.DataError{File: path.String(), Column: colTime, Msg: fmt.Sprintf("has more than %d outcomes to sort: sort the rows by time, and leave out the column", mostTimed)}
		}
		p.Add(int64(rows.n))
	}
	if assumed {
		m.notes = append(m.notes, "The file does not say which pairs were executed: its losses count as those of the policy's decisions.")
	}
	if !src.timed() && m.seen.Known+m.seen.Unknown > 0 {
		m.notes = append(m.notes, "The file has no times: outcomes count in the order of the file.")
	}
	slices.SortStableFunc(later, func(a, b Outcome) int { return cmp.Compare(a.Time, b.Time) })
	return m.Add(nil, nil, later)
}

// addRows decides on rows and adds them. Outcomes are returned instead if they are to be added later.
func (m *Monitor) addRows(ctx context.Context, path string, rows *logRows, keep bool) (later []Outcome, err error) {
	d, err := m.Decide(ctx, rows.features, rows.n)
	if bad, ok := errors.AsType[*policy.RowError](err); ok {
		err = fmt.Errorf("read rows: %w", &costs.DataError{File: path, Row: rows.place(bad.Row), Err: bad.Err})
	}
	if err != nil {
		return nil, err
	}
	decided := make([]int, rows.n)
	promises := d.Accepted != nil && m.router.Info().Promises(m.router.Prices())
	var outcomes []Outcome
	for i := range decided {
		decided[i] = int(d.Action[i])
		if o, ok := rows.outcome(i, decided[i], m.feesCount()); ok {
			o.Expected = ExpectedLoss(d, i, o.Executed)
			if promises && (!d.Accepted[i] || o.Executed == decided[i]) {
				o.Accepted = &d.Accepted[i]
			}
			outcomes = append(outcomes, o)
		}
	}
	if keep {
		return outcomes, m.Add(rows.features, decided, nil)
	}
	return nil, m.Add(rows.features, decided, outcomes)
}

// outcome returns the outcome of a row, with its measured fee if fees count. ok is false if no pair was executed.
func (r *logRows) outcome(i, decided int, fees bool) (o Outcome, ok bool) {
	o = Outcome{Decided: decided, Executed: decided, Loss: math.NaN(), Time: NoTime}
	if r.times != nil {
		o.Time = r.times[i]
	}
	switch {
	case r.tensor != nil:
		o.Loss, o.Decided = outcomeOf(r.tensor, i, decided, fees), -1
		o.Fee = o.Loss - outcomeOf(r.tensor, i, decided, false)
	case r.executed != nil:
		o.Executed = r.executed[i]
		if r.loss != nil {
			o.Loss = r.loss[i]
		}
	case r.loss != nil:
		o.Loss, o.Decided = r.loss[i], -1
	default:
		return o, false
	}
	if r.fee != nil {
		o.Fee = r.fee[i]
	}
	return o, o.Executed >= 0
}
