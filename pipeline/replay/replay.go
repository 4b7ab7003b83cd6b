// Package replay has policies decide the rows of a cost tensor, whose outcomes are known: what training and evaluation know of
// a policy. Use it where decisions are compared with losses; to decide new rows, use package decide.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
)

// Decisions has the decisions of a policy on the reported rows, in their order.
type Decisions struct {
	Info   *policy.Info
	Action []int     // per row
	Scores []float32 // rows x actions
	Loss   []float32 // rows x actions, expected task loss with measured fees; nil: the policy is not by estimates

	File    string // that the policy was read from; "": none
	Digest  string // of the policy, independent of its file name; "": from memory
	Encoder string // in front of the policy, which took the features of the tensor instead; "": none
}

// Open reads a policy file that matches t and decides the given rows of t. A t that is not valid is an error of
// costs.Tensor.Validate; if it has no such row, the error is a *costs.DataError. An any-price policy decides at the prices of
// its training.
func Open(ctx context.Context, rt *ort.Runtime, file storage.Location, t *costs.Tensor, rows []int) (Decisions, error) {
	if err := Check(rt, t, rows); err != nil {
		return Decisions{}, err
	}
	f, d, err := OpenPolicy(ctx, rt, file, t)
	if err != nil {
		return Decisions{}, err
	}
	return AtOwnPrices(ctx, f, d, file, t, rows)
}

// Check checks what a caller passes in memory: the runtime, a tensor and indices of its rows.
func Check(rt *ort.Runtime, t *costs.Tensor, rows []int) error {
	if rt == nil {
		return ort.ErrNoRuntime
	}
	if err := t.Validate(); err != nil {
		return err
	}
	for _, n := range rows {
		if n < 0 || n >= t.Len() {
			return &costs.DataError{Msg: fmt.Sprintf("there is no row %d: the tensor has rows 0 to %d", n, t.Len()-1)}
		}
	}
	return nil
}

// AtOwnPrices decides rows by an open policy at the prices of its training, and closes it.
func AtOwnPrices(ctx context.Context, f *decide.PolicyFile, d *policy.Decider, file storage.Location, t *costs.Tensor, rows []int) (l Decisions, err error) {
	defer func() {
		if err = errors.Join(err, d.Close()); err != nil {
			err = fmt.Errorf("policy %q: %w", file, err)
		}
	}()
	if l, err = At(ctx, d, d.Info().PriceAt(d.Info().Actions, d.Info().Lambda, nil), t, rows); err != nil {
		return l, err
	}
	return l, l.Identify(f, file.String())
}

// OpenPolicy opens a policy file that matches t, for decisions on features. The caller closes the decider.
func OpenPolicy(ctx context.Context, rt *ort.Runtime, file storage.Location, t *costs.Tensor) (*decide.PolicyFile, *policy.Decider, error) {
	f, err := decide.ReadPolicy(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	d, err := f.Open(rt)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Info().Matches(t); err != nil {
		err = &costs.DataError{Err: err} // for the user, two files that do not match
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	if m := methods.Named(d.Info().Method); m.Role != models.RolePolicy {
		err = &costs.DataError{Msg: fmt.Sprintf("its method is %q, a name that reports use for another method: %s", m.Name, m.About)}
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	return f, d, nil
}

// Identify records the file that the decisions are of.
func (l *Decisions) Identify(f *decide.PolicyFile, file string) (err error) {
	l.File = file
	if f.About != nil {
		l.Encoder = f.About.Name
	}
	l.Digest, err = f.Digest()
	return err
}

// At runs a policy at prices over rows of a tensor in batches. A row that cannot be decided on is a
// *costs.DataError.
func At(ctx context.Context, d *policy.Decider, p *policy.Prices, t *costs.Tensor, rows []int) (Decisions, error) {
	l := Decisions{Info: d.Info()}
	const batch = 8192
	var features []float32
	for part := range slices.Chunk(rows, batch) {
		features = features[:0]
		for _, n := range part {
			features = append(features, t.Row(n)...)
		}
		out, err := decideBatch(ctx, d, p, features, len(part))
		if bad, ok := errors.AsType[*policy.RowError](err); ok {
			n := part[bad.Row]
			err = &costs.DataError{Row: n + 1, Msg: fmt.Sprintf("id %q", t.IDs[n]), Err: bad.Err}
		}
		if err != nil {
			return l, err
		}
		for _, a := range out.Action {
			l.Action = append(l.Action, int(a))
		}
		l.Scores, l.Loss = append(l.Scores, out.Scores...), append(l.Loss, out.Loss...)
	}
	return l, nil
}

// Decide exports a policy, opens the exported file and decides the given rows of t, so that the results are those
// of the deployed file. A t that is not valid is an error of costs.Tensor.Validate; if it has no such row or does not
// match the policy, the error is a *costs.DataError.
func Decide(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Decisions, error) {
	if err := errors.Join(Check(rt, t, rows), p.Validate()); err != nil {
		return Decisions{}, err
	}
	if err := p.Matches(t); err != nil {
		return Decisions{}, &costs.DataError{Err: err}
	}
	return Exported(ctx, rt, p, t, rows)
}

// Exported is Decide without its checks: t and rows are valid, and p matches t.
func Exported(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Decisions, error) {
	m, err := p.Export()
	if err != nil {
		return Decisions{}, err
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		return Decisions{}, err
	}
	defer d.Close()
	return At(ctx, d, d.Info().PriceAt(p.Actions, p.Lambda, nil), t, rows)
}

// decideBatch decides at prices, which only an any-price policy can choose.
func decideBatch(ctx context.Context, d *policy.Decider, p *policy.Prices, features []float32, n int) (*policy.Decisions, error) {
	if d.Info().Prices == nil {
		return d.Decide(ctx, features, n)
	}
	return d.DecideAt(ctx, p, features, n)
}
