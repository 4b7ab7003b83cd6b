package cascade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/internal/finite"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Rows are rows in any states, which may differ, for A pairs and F facts.
type Rows struct {
	N        int
	Features []float32 // N x Dim, not standardised
	Observed []float32 // N x A*F: fact f of pair i at i*F+f, NaN where it is not known; not looked at where the pair was not executed
	Executed []bool    // N x A
}

// Decisions are the next steps on N rows.
type Decisions struct {
	Action []int64 // N: a pair that was executed, whose answer is accepted, or the one to execute next
	Accept []bool  // N
	// Loss is what the best answer at hand is expected to lose if it is accepted; NaN in the empty state.
	Loss []float32
	// Remaining is the expected cost that is still to come: fees that are not yet paid, and the loss.
	Remaining []float32
	Cost      []float32 // N x A: Remaining for every action; above 1e29 where there is no such action
	// Accepted says that the guarantee of the file accepts the answer that is accepted; false where another pair is executed. nil: the
	// file has no guarantee.
	Accepted []bool
}

// Decider runs a cascade file. It is safe for concurrent use. Close waits for running calls; later ones fail with
// ort.ErrClosed.
type Decider struct {
	info    *Info
	mask    []bool         // pairs that exist
	base    *policy.Prices // those of the file
	session *ort.Session
	runtime *ort.Runtime

	idle ort.Pool[*buffers]
}

// blockRows is the most rows that the graph sees at once: neighbours need a number for every training row.
const blockRows = 1024

// Open opens the cascade file at path on rt. The decider must be closed before rt. The errors are those of [Read].
func Open(rt *ort.Runtime, path string) (*Decider, error) {
	m, _, err := Read(path)
	if err != nil {
		return nil, err
	}
	d, err := NewDecider(rt, m)
	if err != nil {
		return nil, fmt.Errorf("open cascade %q: %w", path, err)
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
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		return nil, err
	}
	return &Decider{info: info, mask: info.Actions.Mask(), base: info.Base(), session: s, runtime: rt}, nil
}

// Info is the metadata of the file; do not change it.
func (d *Decider) Info() *Info { return d.info }

// Close frees the session and the idle buffers. It is idempotent.
func (d *Decider) Close() error { return errors.Join(d.idle.Close(), d.session.Close()) }

// Next decides the next step on rows at the prices of the file, see [Decider.NextAt].
func (d *Decider) Next(ctx context.Context, rows Rows) (*Decisions, error) {
	return d.NextAt(ctx, nil, rows)
}

// NextAt decides the next step on rows at prices: those of the file if there are none, of all rows if there is one, else one for each
// row. A pair that is not available is not executed next, and its cost is that of an action that there is not; the answer of one that
// was executed is always available. A file with fixed prices takes what is available, and else returns [policy.ErrFixedPrices] at
// other prices than its own: its costs assume that all pairs can be executed later.
//
// A value that is seen of an answer and is not finite is taken as not known. The error is a *policy.RowError if a feature is NaN or
// infinite, if a pair was executed that does not exist, if no pair is available on a row without an answer, or if the answer of the
// graph is not one.
func (d *Decider) NextAt(ctx context.Context, at []*policy.Prices, rows Rows) (*Decisions, error) {
	if len(at) == 0 {
		at = []*policy.Prices{d.base}
	}
	err := d.check(rows)
	if err == nil {
		err = d.checkPrices(at, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("next step: %w", err)
	}
	out := new(Decisions)
	for first := 0; first < rows.N; first += blockRows {
		last := min(rows.N, first+blockRows)
		prices := at
		if len(at) > 1 {
			prices = at[first:last]
		}
		if err := d.run(ctx, prices, rows.slice(first, last, d.info), out); err != nil {
			var row *policy.RowError
			if errors.As(err, &row) {
				err = &policy.RowError{Row: first + row.Row, Err: row.Err}
			}
			return nil, fmt.Errorf("next step: %w", err)
		}
	}
	return out, nil
}

// slice are the rows from up to to, sharing memory.
func (r Rows) slice(from, to int, i *Info) Rows {
	pairs, columns := i.Actions.Len(), i.Columns()
	return Rows{
		to - from, r.Features[from*i.Dim : to*i.Dim], r.Observed[from*columns : to*columns],
		r.Executed[from*pairs : to*pairs],
	}
}

func (d *Decider) check(rows Rows) error {
	i, pairs := d.info, d.info.Actions.Len()
	if rows.N < 0 || len(rows.Features) != rows.N*i.Dim || len(rows.Observed) != rows.N*i.Columns() || len(rows.Executed) != rows.N*pairs {
		return fmt.Errorf("%d features, %d observed values and %d executed pairs for %d rows of %d, %d and %d",
			len(rows.Features), len(rows.Observed), len(rows.Executed), rows.N, i.Dim, i.Columns(), pairs)
	}
	if at := finite.First(rows.Features); at >= 0 {
		return &policy.RowError{Row: at / i.Dim, Err: fmt.Errorf("feature %d is %v", at%i.Dim, rows.Features[at])}
	}
	for at, executed := range rows.Executed {
		if executed && !d.mask[at%pairs] {
			return &policy.RowError{Row: at / pairs, Err: fmt.Errorf("%s was executed, but does not exist", i.Actions.Name(at%pairs))}
		}
	}
	return nil
}

// checkPrices reports prices that the file cannot decide at.
func (d *Decider) checkPrices(at []*policy.Prices, rows Rows) error {
	if len(at) > 1 && len(at) != rows.N {
		return fmt.Errorf("prices of %d rows for %d rows", len(at), rows.N)
	}
	for n, p := range at {
		err := d.info.CheckPrices(p)
		if err == nil && d.info.Prices == nil && !p.SameFees(d.base) {
			err = policy.ErrFixedPrices
		}
		if err != nil && len(at) > 1 {
			err = &policy.RowError{Row: n, Err: err}
		}
		if err != nil {
			return err
		}
	}
	pairs := len(d.mask)
	for n := range rows.N {
		p := priceOf(at, n)
		if slices.Contains(rows.Executed[n*pairs:(n+1)*pairs], true) {
			continue
		}
		if !anyOf(d.mask, p.Available) {
			return &policy.RowError{Row: n, Err: errors.New("no pair may be executed")}
		}
	}
	return nil
}

// priceOf are the prices of a row.
func priceOf(at []*policy.Prices, row int) *policy.Prices {
	if len(at) == 1 {
		return at[0]
	}
	return at[row]
}

// anyOf reports whether some position is true in both.
func anyOf(a, b []bool) bool {
	for i, is := range a {
		if is && b[i] {
			return true
		}
	}
	return false
}

// run decides a block of rows, and appends.
func (d *Decider) run(ctx context.Context, at []*policy.Prices, rows Rows, out *Decisions) error {
	b, err := d.take(rows.N, len(at))
	if err != nil {
		return err
	}
	defer d.idle.Put(b)
	copy(b.in[0].Float32s(), rows.Features)
	copy(b.in[1].Float32s(), rows.Observed)
	copy(b.in[2].Bools(), rows.Executed)
	if d.info.Prices != nil {
		b.price(at)
	}
	if err := d.session.RunBuffers(ctx, b.ordered.in, b.ordered.out); err != nil {
		return err
	}
	own := Decisions{b.out[0].Int64s(), b.out[1].Bools(), b.out[2].Float32s(), b.out[3].Float32s(), b.out[4].Float32s(), nil}
	if d.info.Guarantee != nil {
		own.Accepted = b.out[5].Bools()
	}
	if err := d.verify(rows, own); err != nil {
		return err
	}
	if own, err = d.masked(at, rows, own); err != nil {
		return err
	}
	out.Action, out.Accept = append(out.Action, own.Action...), append(out.Accept, own.Accept...)
	out.Loss, out.Remaining = append(out.Loss, own.Loss...), append(out.Remaining, own.Remaining...)
	out.Cost, out.Accepted = append(out.Cost, own.Cost...), append(out.Accepted, own.Accepted...)
	return nil
}

// verify compares the answer of the graph with the contract of the file. Features so large that costs overflow violate it,
// and so does a damaged or foreign file.
func (d *Decider) verify(rows Rows, out Decisions) error {
	pairs := d.info.Actions.Len()
	for n, action := range out.Action {
		executed := rows.Executed[n*pairs : (n+1)*pairs]
		var problem string
		switch {
		case action < 0 || action >= int64(pairs) || !d.mask[action]:
			problem = fmt.Sprintf("the cascade answers action %d of %d, which does not exist", action, pairs)
		case out.Accept[n] != executed[action]:
			problem = fmt.Sprintf("the cascade answers %s and accept=%t, but executed=%t", d.info.Actions.Name(int(action)), out.Accept[n], executed[action])
		case !known(out.Remaining[n]) || out.Remaining[n] > noneAbove || out.Remaining[n] != out.Cost[n*pairs+int(action)]:
			problem = fmt.Sprintf("the cascade expects %g of %s", out.Remaining[n], d.info.Actions.Name(int(action)))
		case out.Accepted != nil && out.Accepted[n] != (out.Accept[n] && d.info.Guarantee.Accepts(out.Loss[n])):
			problem = fmt.Sprintf("the guarantee of the cascade answers %t of an expected loss of %g", out.Accepted[n], out.Loss[n])
		case slices.Contains(executed, true) != known(out.Loss[n]):
			problem = fmt.Sprintf("the cascade expects a loss of %g", out.Loss[n])
		}
		if problem != "" {
			return &policy.RowError{Row: n, Err: errors.New(problem + ": features out of range, or a damaged file")}
		}
	}
	return nil
}

// buffers are the runtime's tensors for one call, in the order of the contract.
type buffers struct {
	rows    int
	prices  int // rows of prices: 1, or rows
	in, out []*ort.Buffer
	ordered struct{ in, out []*ort.Buffer } // as the session has them
}

// Close frees the buffers.
func (b *buffers) Close() error {
	var errs []error
	for _, buf := range slices.Concat(b.in, b.out) {
		if buf != nil {
			errs = append(errs, buf.Close())
		}
	}
	return errors.Join(errs...)
}

// price writes the rows of prices.
func (b *buffers) price(at []*policy.Prices) {
	experts, advice, pairs, available := b.in[3].Float32s(), b.in[4].Float32s(), b.in[5].Float32s(), b.in[6].Bools()
	j, k, a := len(experts)/b.prices, len(advice)/b.prices, len(pairs)/b.prices
	for n, p := range at {
		p.Fill(experts[n*j:(n+1)*j], advice[n*k:(n+1)*k], pairs[n*a:(n+1)*a], available[n*a:(n+1)*a])
	}
}

// take returns buffers for n rows and some rows of prices that no other call uses.
func (d *Decider) take(n, prices int) (*buffers, error) {
	return d.idle.Take(func(b *buffers) bool { return b.rows == n && b.prices == prices }, func() (*buffers, error) { return d.newBuffers(n, prices) })
}

func (d *Decider) newBuffers(n, prices int) (*buffers, error) {
	b := &buffers{rows: n, prices: prices}
	var errs [2]error
	b.in, b.ordered.in, errs[0] = d.allocate(n, prices, d.info.inputs(), d.session.Inputs())
	b.out, b.ordered.out, errs[1] = d.allocate(n, prices, d.info.outputs(), d.session.Outputs())
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// allocate makes buffers of the contract, also in the order of the session. Inputs of prices have that many rows, all others n.
func (d *Decider) allocate(n, prices int, contract, session []onnx.IO) (own, ordered []*ort.Buffer, err error) {
	ordered = make([]*ort.Buffer, len(session))
	priced := d.info.once().PriceInputs()
	for _, io := range contract {
		shape := []int64{int64(n)}
		if slices.ContainsFunc(priced, func(p onnx.IO) bool { return p.Name == io.Name }) {
			shape[0] = int64(prices)
		}
		if len(io.Shape) > 1 {
			shape = append(shape, io.Shape[1].Size)
		}
		b, err := d.runtime.NewBuffer(io.DType, shape...)
		if err != nil {
			return own, ordered, err
		}
		own = append(own, b)
		ordered[slices.IndexFunc(session, func(s onnx.IO) bool { return s.Name == io.Name })] = b
	}
	return own, ordered, nil
}
