package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/play"
	"pipe/pipeline/stage"
)

// watched is a cascade whose guarantee is watched, the only family that a cascade has: the outcome of an answer that was chosen among several
// does not say what a decision costs.
type watched struct {
	d       *cascade.Decider
	promise *promise
	rows    int64 // decisions at a price of the promise
	first   int64 // time of an outcome; NoTime: none
	last    int64
	notes   []string
	later   []Outcome
}

// runCascade is run for a cascade with a guarantee. Of another one it returns not, the error that it is no policy that decides once.
func runCascade(ctx context.Context, rt *ort.Runtime, o RunOptions, not error, p stage.Progress) (_ *Status, err error) {
	d, err := play.Open(ctx, rt, o.Policy)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	g := d.Info().Guarantee
	switch {
	case g == nil:
		return nil, not
	case o.Raw || !o.State.IsZero() || !o.PriceFile.IsZero() || !o.Out.IsZero():
		return nil, &stage.OptionError{Err: fmt.Errorf("monitor: %q is a cascade, of which the guarantee is watched: it takes a cost tensor with what can be seen of answers, or a decision log, without --out, --state, --prices, --encoder, --text and --image", o.Policy)}
	}
	w := &watched{d: d, notes: []string{"The file is a cascade: only its guarantee is tested, and the baseline is not looked at."}, first: NoTime, last: NoTime}
	if w.promise, err = newPromise(g, o.Alpha); err != nil {
		return nil, err
	}
	p.Start(-1, "read rows")
	if decisionlog.IsLog(o.In.String()) {
		if !o.Prices.IsZero() {
			return nil, &stage.OptionError{Err: errors.New("monitor: a decision log has the prices of its decisions: --lambda, --fee and --without have no effect on it")}
		}
		err = w.readLog(ctx, o.In.String())
	} else {
		err = w.readTensor(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(w.later, func(a, b Outcome) int { return cmp.Compare(a.Time, b.Time) })
	for _, out := range w.later {
		w.promise.add(out)
	}
	return w.status(o), nil
}

// readLog takes the decisions of cascades with these pairs that say whether they were accepted, at a price of the promise.
func (w *watched) readLog(ctx context.Context, path string) error {
	l, err := decisionlog.Read(path)
	if err != nil {
		return err
	}
	info, versions := w.d.Info(), map[string]bool{}
	for d, err := range l.Decisions() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if !d.IsCascade() || !d.AcceptedKnown || info.Actions.SameSet(d.About.Actions) != nil || d.About.Dim != 0 && d.About.Dim != info.Dim || !w.promised(d.Record) {
			continue
		}
		w.rows++
		versions[fmt.Sprintf("%s@%.12s", d.Policy, d.Digest)] = true
		loss, known := d.Outcome.LossOf()
		if !known || d.Accepted && d.Executed < 0 {
			continue
		}
		w.take(d.Accepted, loss, cmp.Or(d.Outcome.Time, d.Time))
	}
	if w.rows == 0 {
		return &costs.DataError{File: path, Msg: "has no decision of a cascade with the same experts, advice and features that says whether it was accepted, at a price of the guarantee"}
	}
	if len(versions) > 1 {
		w.notes = append(w.notes, "Decisions of several versions count: "+strings.Join(slices.Sorted(maps.Keys(versions)), ", ")+".")
	}
	return nil
}

// promised reports whether the guarantee is about the prices and the pairs of a record.
func (w *watched) promised(r *decisionlog.Record) bool {
	p := &policy.Prices{Lambda: r.Lambda, Experts: r.ExpertFees, Advice: r.AdviceFees, Pairs: r.PairFees, Available: r.Available}
	return w.d.Info().Promises(p)
}

// prices are those of the options, or else the first ones of the promise. Others are a *stage.OptionError.
func (w *watched) prices(o RunOptions) (*policy.Prices, error) {
	info := w.d.Info()
	if o.Prices.IsZero() {
		return info.PriceAt(info.Actions, info.Guarantee.At[0].Lambda), nil
	}
	at, err := info.Price(o.Prices)
	if err == nil && !info.Promises(at) {
		err = errors.New("its guarantee is for other prices")
	}
	if err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("cascade %q: %w", o.Policy, err)}
	}
	return at, nil
}

// readTensor plays the rows of a table at one price of the promise.
func (w *watched) readTensor(ctx context.Context, o RunOptions) (err error) {
	r, err := costs.OpenReader(ctx, o.In, costs.ReadOptions{Unknown: true})
	if err != nil {
		return err
	}
	defer r.Close()
	at, err := w.prices(o)
	if err != nil {
		return err
	}
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rows := make([]int, t.Len())
		for n := range rows {
			rows[n] = n
		}
		played, err := cascade.Play(ctx, w.d, t, rows, at)
		if err != nil {
			return fmt.Errorf("cascade %q on %q: %w", o.Policy, o.In, err)
		}
		for n, accepted := range played.Guaranteed {
			w.rows++
			if loss := played.Loss[n]; loss == loss {
				w.take(accepted, loss, NoTime)
			}
		}
	}
}

// take notes an outcome.
func (w *watched) take(accepted bool, loss float64, time int64) {
	w.later = append(w.later, Outcome{Accepted: &accepted, Loss: loss, Time: time})
	if time != NoTime {
		if w.first == NoTime || time < w.first {
			w.first = time
		}
		w.last = max(w.last, time)
	}
}

func (w *watched) status(o RunOptions) *Status {
	found := Warning
	if slices.Contains(o.FailOn, Guarantee) {
		found = Alarm
	}
	s := &Status{
		Format: statusFormat, Watched: true, Policy: PolicyInfo{File: o.Policy.String(), Method: "cascade", Lambda: w.d.Info().Lambda},
		New:    NewInfo{File: o.In.Base(), Rows: w.rows, First: timeText(w.first), Last: timeText(w.last)},
		Inputs: InputsStatus{Verdict: Untested}, Decisions: DecisionsStatus{Verdict: Untested}, Outcomes: OutcomesStatus{Verdict: Untested},
		Guarantee: w.promise.status(o.Alpha, found), Notes: w.notes,
	}
	s.Verdict = s.Guarantee.Verdict
	return s
}
