package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/finite"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Decider runs a policy file. It is safe for concurrent use. Close waits for
// running calls; later calls fail with ort.ErrClosed.
type Decider struct {
	info    *Info
	session *ort.Session
	runtime *ort.Runtime
	outputs []output       // of the contract
	at      map[string]int // position of an input or output among the session's

	available []bool  // per action
	base      *Prices // those of the file, which Decide uses

	idle ort.Pool[*batchBuffers]
}

// A decider keeps no batches with more than keptRows rows, so that one huge call does not hold its memory forever.
const keptRows = 1 << 16

// Open opens the policy file at path on rt. The decider must be closed before rt. The errors are those of [Read]. A
// policy with an encoder in front is an error too, because it takes texts or images instead of features.
func Open(rt *ort.Runtime, path string) (*Decider, error) {
	m, _, err := Read(path)
	if err != nil {
		return nil, err
	}
	d, err := NewDecider(rt, m)
	if err != nil {
		return nil, fmt.Errorf("open policy %q: %w", path, err)
	}
	return d, nil
}

// NewDecider is [Open] for a model in memory, such as the result of [Policy.Export].
func NewDecider(rt *ort.Runtime, m *onnx.Model) (*Decider, error) {
	if rt == nil {
		return nil, ort.ErrNoRuntime
	}
	info, err := Parse(m)
	if err != nil {
		return nil, err
	}
	if info.Encoded {
		return nil, fmt.Errorf("policy takes inputs %s, not %q alone: it has an encoder in front", ioNames(m.Inputs()), FeaturesInput)
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		return nil, err
	}
	d := &Decider{info: info, session: s, runtime: rt, outputs: info.outputs(), at: map[string]int{}, available: info.Actions.Mask()}
	d.base = info.Base()
	for i, io := range s.Outputs() {
		d.at[io.Name] = i
	}
	for i, io := range s.Inputs() {
		d.at[io.Name] = i
	}
	if n := len(s.Outputs()); n != len(d.outputs) {
		return nil, errors.Join(fmt.Errorf("policy has %d outputs, not %d", n, len(d.outputs)), s.Close())
	}
	return d, nil
}

// Info is the metadata of the policy file; do not change it.
func (d *Decider) Info() *Info { return d.info }

// Close frees the session and the idle buffers. It is idempotent.
func (d *Decider) Close() error { return errors.Join(d.idle.Close(), d.session.Close()) }

// Decisions are the decisions on n rows, for J experts and K+1 levels of advice.
type Decisions struct {
	Actions int       // J(K+1), the width of Scores
	Levels  int       // K+1
	Action  []int64   // n, Expert*Levels + Advice
	Expert  []int64   // n, from 0 to J-1
	Advice  []int64   // n, from 0 to K; 0 is no advice
	Scores  []float32 // n x Actions, higher is better
	// Loss and Cost are what a policy by estimates expects, n x Actions: task loss with measured fees, and the same plus
	// the fees. nil for other policies. What an unavailable pair would cost is a number above 1e29.
	Loss, Cost []float32
	// Usage is what a policy with usage expects of every pair, n x Actions by quantity, NaN where it is not known; else nil.
	Usage costs.Usage
	// Accepted says which decisions the guarantee of the policy is about, n; nil: the policy has none. What is not accepted should be
	// left to [Guarantee].Instead.
	Accepted []bool
}

// Rows are the decisions of rows [from, to), sharing memory.
func (d *Decisions) Rows(from, to int) *Decisions {
	part := *d
	part.Action, part.Expert, part.Advice = d.Action[from:to], d.Expert[from:to], d.Advice[from:to]
	part.Scores = d.Scores[from*d.Actions : to*d.Actions]
	if d.Loss != nil {
		part.Loss, part.Cost = d.Loss[from*d.Actions:to*d.Actions], d.Cost[from*d.Actions:to*d.Actions]
	}
	if d.Accepted != nil {
		part.Accepted = d.Accepted[from:to]
	}
	for q, values := range d.Usage {
		if values != nil {
			part.Usage[q] = values[from*d.Actions : to*d.Actions]
		}
	}
	return &part
}

// Decide decides on n rows of features, n x Dim, not standardised. The error is a *[RowError] if a feature is NaN or
// infinite, or if the graph's answer contradicts its own scores.
func (d *Decider) Decide(ctx context.Context, features []float32, n int) (*Decisions, error) {
	return d.DecideAt(ctx, d.base, features, n)
}

// blockRows is the most rows that the graph of a policy by estimates sees at once: neighbours need a number for every
// training row.
const blockRows = 1024

// DecideAt is Decide at other prices. They must be those of the file, as Decide uses them, unless it is an any-price
// policy. If nothing that may be chosen is left, the error is a *[RowError].
func (d *Decider) DecideAt(ctx context.Context, at *Prices, features []float32, n int) (*Decisions, error) {
	out := &Decisions{Actions: d.info.Actions.Len(), Levels: len(d.info.Actions.Advice)}
	if n == 0 && len(features) == 0 {
		return out, nil
	}
	block := n
	if d.info.estimates() {
		block = min(n, blockRows)
	}
	if n < 1 || len(features) != n*d.info.Dim {
		block = n // run names the problem
	}
	for first := 0; first < n || first == 0; first += block {
		rows := min(block, n-first)
		part := features
		if block < n {
			part = features[first*d.info.Dim : (first+rows)*d.info.Dim]
		}
		if err := d.run(ctx, at, part, rows, func(b *batchBuffers) { d.collect(out, b) }); err != nil {
			return nil, laterRow(err, first)
		}
	}
	return out, nil
}

// collect appends the results of a batch.
func (d *Decider) collect(out *Decisions, b *batchBuffers) {
	out.Action = append(out.Action, d.ints(b, ActionOutput)...)
	out.Expert = append(out.Expert, d.ints(b, ExpertOutput)...)
	out.Advice = append(out.Advice, d.ints(b, AdviceOutput)...)
	out.Scores = append(out.Scores, d.floats(b, ScoresOutput)...)
	if d.info.estimates() {
		out.Loss = append(out.Loss, d.floats(b, LossOutput)...)
		out.Cost = append(out.Cost, d.floats(b, CostOutput)...)
	}
	for _, q := range d.info.quantities() {
		out.Usage[q] = append(out.Usage[q], d.floats(b, UsageOutput(q))...)
	}
	if d.info.Guarantee != nil {
		out.Accepted = append(out.Accepted, d.bools(b, AcceptedOutput)...)
	}
}

func (d *Decider) bools(b *batchBuffers, output string) []bool { return b.out[d.at[output]].Bools() }

func (d *Decider) ints(b *batchBuffers, output string) []int64 { return b.out[d.at[output]].Int64s() }

func (d *Decider) floats(b *batchBuffers, output string) []float32 {
	return b.out[d.at[output]].Float32s()
}

func (d *Decider) input(b *batchBuffers, name string) *ort.Buffer { return b.in[d.at[name]] }

// laterRow counts the row that an error names from the first row of the call.
func laterRow(err error, first int) error {
	var row *RowError
	if first > 0 && errors.As(err, &row) {
		return fmt.Errorf("decide: %w", &RowError{first + row.Row, row.Err})
	}
	return err
}

// DecideOne is Decide for one row, Dim features. It returns the action and
// allocates no results. If scores is not nil the J(K+1) scores are copied to it.
func (d *Decider) DecideOne(ctx context.Context, scores, features []float32) (action int, err error) {
	err = d.run(ctx, d.base, features, 1, func(b *batchBuffers) {
		action = int(d.ints(b, ActionOutput)[0])
		copy(scores, d.floats(b, ScoresOutput))
	})
	return action, err
}

func (d *Decider) run(ctx context.Context, at *Prices, features []float32, n int, use func(*batchBuffers)) error {
	if err := d.checkFeatures(features, n); err != nil {
		return err
	}
	if err := d.checkPrices(at); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	b, err := d.take(n, 1)
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	defer d.put(b)
	copy(d.input(b, FeaturesInput).Float32s(), features)
	if d.info.Prices != nil {
		d.loadRow(b, at, 0)
	}
	if err := d.session.RunBuffers(ctx, b.in, b.out); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	if err := d.check(b, 0, n); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	use(b)
	return nil
}

// RowError names the row of a call on which no decision is possible.
type RowError struct {
	Row int // from 0
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap returns the underlying error.
func (e *RowError) Unwrap() error { return e.Err }

// check compares the answer of the graph on some rows with the contract of the file: scores are finite; the action exists,
// is the smallest index among the largest scores and matches the expert and the advice. Features so large that the scores
// overflow violate it, and so does a damaged or foreign file. A *RowError counts from the first of these rows.
func (d *Decider) check(b *batchBuffers, first, rows int) error {
	action, expert, advice := d.ints(b, ActionOutput)[first:first+rows], d.ints(b, ExpertOutput)[first:], d.ints(b, AdviceOutput)[first:]
	actions := d.info.Actions.Len()
	scores := d.floats(b, ScoresOutput)[first*actions : (first+rows)*actions]
	if i := finite.First(scores); i >= 0 {
		return &RowError{i / actions, fmt.Errorf("the policy's score of %s is %v: features out of range, or a damaged file",
			d.info.Actions.Name(i%actions), scores[i])}
	}
	for n, i := range action {
		if err := d.checkAction(i, expert[n], advice[n], scores[n*actions:(n+1)*actions]); err != nil {
			return &RowError{n, err}
		}
	}
	return d.checkAccepted(b, first, action)
}

// checkAccepted compares what a graph accepts with its own expected losses, as check does with its scores.
func (d *Decider) checkAccepted(b *batchBuffers, first int, action []int64) error {
	g, actions := d.info.Guarantee, d.info.Actions.Len()
	if g == nil {
		return nil
	}
	accepted := d.bools(b, AcceptedOutput)[first:]
	for n, i := range action {
		loss := float32(math.Inf(-1))
		if g.Threshold != nil {
			loss = d.floats(b, LossOutput)[(first+n)*actions+int(i)]
		}
		if accepted[n] != g.Accepts(loss) {
			return &RowError{n, fmt.Errorf("accepted is %v, which contradicts the expected loss %g: a damaged file", accepted[n], loss)}
		}
	}
	return nil
}

// checkAction is check for one row of finite scores.
func (d *Decider) checkAction(action, expert, advice int64, scores []float32) error {
	a, levels := d.info.Actions, int64(len(d.info.Actions.Advice))
	if action < 0 || action >= int64(len(scores)) || expert != action/levels || advice != action%levels {
		return fmt.Errorf("the policy answers action %d (expert %d, advice %d), which is not one of its %d actions: a damaged file",
			action, expert, advice, len(scores))
	}
	best := 0
	for i, s := range scores {
		if s > scores[best] {
			best = i
		}
	}
	i := int(action)
	switch {
	case i != best:
		return fmt.Errorf("the policy answers %s, but its scores prefer %s: a damaged file", a.Name(i), a.Name(best))
	case !d.available[i] || scores[i] <= ExcludedBelow:
		return fmt.Errorf("the policy answers %s, which it must never choose: features out of range, or a damaged file", a.Name(i))
	case d.info.Fixed >= 0 && i != d.info.Fixed:
		return fmt.Errorf("the metadata says that the policy always chooses %s, but it answers %s: a damaged file", a.Name(d.info.Fixed), a.Name(i))
	}
	return nil
}

// batchBuffers are the runtime's tensors for one call with a given batch size.
type batchBuffers struct {
	rows   int
	prices int           // rows of prices: 1 for the whole batch, or as many as it has
	in     []*ort.Buffer // in the order of the session's inputs
	out    []*ort.Buffer // in the order of the session's outputs
}

// Close frees the buffers.
func (b *batchBuffers) Close() error {
	var errs []error
	for _, buf := range slices.Concat(b.in, b.out) {
		if buf != nil {
			errs = append(errs, buf.Close())
		}
	}
	return errors.Join(errs...)
}

// take returns buffers for n rows, with some rows of prices, that no other call uses.
func (d *Decider) take(n, prices int) (*batchBuffers, error) {
	return d.idle.Take(func(b *batchBuffers) bool { return b.rows == n && b.prices == prices },
		func() (*batchBuffers, error) { return d.newBuffers(n, prices) })
}

func (d *Decider) newBuffers(n, prices int) (*batchBuffers, error) {
	inputs := d.info.inputs()
	b := &batchBuffers{rows: n, prices: prices, in: make([]*ort.Buffer, len(inputs)), out: make([]*ort.Buffer, len(d.outputs))}
	rows, actions := int64(n), int64(d.info.Actions.Len())
	var errs []error
	for _, in := range inputs {
		first := rows
		if in.Name != FeaturesInput {
			first = int64(prices)
		}
		buf, err := d.runtime.NewBuffer(in.DType, first, in.Shape[1].Size)
		b.in[d.at[in.Name]], errs = buf, append(errs, err)
	}
	for _, o := range d.outputs {
		buf, err := d.runtime.NewBuffer(o.dtype, []int64{rows, actions}[:o.rank]...)
		b.out[d.at[o.name]], errs = buf, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// put keeps b for later calls.
func (d *Decider) put(b *batchBuffers) {
	if b.rows > keptRows {
		_ = b.Close() // freeing memory has no error that a caller could act on
		return
	}
	d.idle.Put(b)
}

// Masked decides again on the same scores, among the actions i for which available[i] is true (see [Without]): it
// takes the best of them, the smallest index on ties. A decision that changes is not accepted: the guarantee is about the
// decisions of the file. If no action remains that the policy may choose, the error is a
// *[RowError] and d is unchanged. This happens for an l2d policy if every pair without advice is masked out.
func (d *Decisions) Masked(available []bool) error {
	if len(available) != d.Actions {
		return fmt.Errorf("mask has %d entries for %d actions", len(available), d.Actions)
	}
	chosen := make([]int64, len(d.Action))
	for n := range chosen {
		best, at := float32(math.Inf(-1)), -1
		for i, s := range d.Scores[n*d.Actions : (n+1)*d.Actions] {
			if available[i] && s > ExcludedBelow && s > best {
				best, at = s, i
			}
		}
		if at < 0 {
			return &RowError{n, errors.New("no action remains that the policy may choose")}
		}
		chosen[n] = int64(at)
	}
	for n, i := range chosen {
		if d.Accepted != nil && d.Action[n] != i {
			d.Accepted[n] = false
		}
		d.Action[n], d.Expert[n], d.Advice[n] = i, i/int64(d.Levels), i%int64(d.Levels)
	}
	return nil
}

// FeeOn is what a pair is expected to cost besides its task loss on a row of decisions at these prices.
func (p *Prices) FeeOn(d *Decisions, row, pair int) float64 {
	return p.FeeOf(pair, &d.Usage, row*d.Actions+pair)
}
