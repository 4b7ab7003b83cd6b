package grow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pipe/costs"
	"pipe/internal/textfile"
)

// joinPairs puts the pairs of all files side by side, in the order of the rows
// of the first file.
func (m *merger) joinPairs(ctx context.Context) error {
	lead := m.inputs[0]
	m.options.Progress.Start(int64(lead.total), "rows")
	others := []*follower{}
	for _, in := range m.inputs[1:] {
		f, err := m.follow(ctx, lead, in)
		if err != nil {
			return err
		}
		others = append(others, f)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, err := lead.next()
		if errors.Is(err, io.EOF) {
			return finishAll(others)
		}
		if err != nil {
			return err
		}
		if batch, err = m.widen(batch, others); err != nil {
			return err
		}
		if err := m.add(0, batch); err != nil {
			return err
		}
		m.options.Progress.Add(int64(batch.Len()))
	}
}

// follow opens a file beside the first one, and checks that both have the same
// rows.
func (m *merger) follow(ctx context.Context, lead, in *input) (*follower, error) {
	match, err := matchRows(ctx, lead, in)
	if err != nil {
		return nil, err
	}
	why := "pairs are joined side by side"
	if differ := sameActions([]*input{lead, in}); differ != nil && m.options.Mode == "" {
		why = fmt.Sprintf("the files do not have the same actions (%v), so they are joined side by side", errors.Unwrap(differ))
		if sameNames(lead.actions, in.actions) {
			why += "; both have the same experts and advice in another order, which the lists experts and advice in the configuration of pipe import fix"
		}
	}
	needs := "; that needs the same rows in all files"
	if match.onlyA.Rows > 0 && match.onlyB.Rows > 0 && textfile.FloatSpelling(match.onlyA.IDs[0]) == match.onlyB.IDs[0] {
		needs += fmt.Sprintf("; %s and %s are different ids, so write both alike", textfile.Quoted(match.onlyA.IDs[0]), textfile.Quoted(match.onlyB.IDs[0]))
	}
	switch {
	case match.onlyA.Rows > 0:
		return nil, lead.fault(match.onlyA.first, "id", "%s is not in %q; %s%s", textfile.Quoted(match.onlyA.IDs[0]), in.path, why, needs)
	case match.onlyB.Rows > 0:
		return nil, in.fault(match.onlyB.first, "id", "%s is not in %q; %s%s", textfile.Quoted(match.onlyB.IDs[0]), lead.path, why, needs)
	}
	return newFollower(ctx, in, match)
}

// sameNames reports whether two tensors have the same experts and advice, in any
// order.
func sameNames(a, b *costs.Actions) bool {
	sorted := func(actions *costs.Actions) []string { return slices.Sorted(slices.Values(actions.Names())) }
	return slices.Equal(sorted(a), sorted(b))
}

// widen returns rows of the first file with the pairs of all files.
func (m *merger) widen(batch *costs.Tensor, others []*follower) (*costs.Tensor, error) {
	cells := batch.Len() * m.layout.actions.Len()
	wide := *batch
	wide.Actions = m.layout.actions
	wide.Loss = unknown[float32](cells)
	spread(m.layout, 0, batch.Loss, wide.Loss)
	if batch.Fee != nil {
		wide.Fee = make([]float32, cells)
		spread(m.layout, 0, batch.Fee, wide.Fee)
	}
	for q, values := range batch.Usage {
		if values != nil {
			wide.Usage[q] = unknown[float32](cells)
			spread(m.layout, 0, values, wide.Usage[q])
		}
	}
	if batch.Propensity != nil {
		wide.Propensity = unknown[float64](cells)
		spread(m.layout, 0, batch.Propensity, wide.Propensity)
	}
	if batch.Predictions != nil {
		wide.Predictions = make([]string, cells)
		spread(m.layout, 0, batch.Predictions, wide.Predictions)
	}
	facts, err := m.spreadFacts(&wide)
	if err != nil {
		return nil, err
	}
	there := make([]bool, m.layout.actions.Len()) // which pairs have their values
	m.layout.mark(0, m.inputs[0].actions.Mask(), there)
	for f, other := range others {
		if err := m.fill(&wide, facts, f+1, other, there); err != nil {
			return nil, err
		}
		m.layout.mark(f+1, other.in.actions.Mask(), there)
	}
	for _, f := range facts {
		f.Sort()
	}
	return &wide, nil
}

// fill adds the pairs of file f to rows of the first file. Pairs that are there
// already must be equal.
func (m *merger) fill(wide *costs.Tensor, facts []costs.FactBuilder, f int, other *follower, there []bool) error {
	first := m.inputs[0].rows - wide.Len()
	mask := other.in.actions.Mask()
	for n, id := range wide.IDs {
		t, row, err := other.at(id)
		if err != nil {
			return err
		}
		var differs firstCell
		compareInstance(t, row, wide, n, differs.note)
		for p, available := range mask {
			to := m.layout.at[f][p]
			switch {
			case !available:
			case !there[to]:
				if err := copyPair(wide, facts, n, to, t, row, p); err != nil {
					return err
				}
			default:
				comparePair(t, row, p, wide, n, to, differs.note)
			}
		}
		if differs.cell != nil {
			return m.differs(differs.cell, place{file: f, row: other.index[id]}, place{row: first + n}, id)
		}
	}
	return nil
}

func finishAll(others []*follower) error {
	for _, f := range others {
		if err := f.finish(); err != nil {
			return err
		}
	}
	return nil
}

// copyPair copies pair p of a row to pair q of another tensor.
func copyPair(to *costs.Tensor, facts []costs.FactBuilder, n, q int, t *costs.Tensor, row, p int) error {
	x, y := n*to.Actions.Len()+q, row*t.Actions.Len()+p
	to.Loss[x] = t.Loss[y]
	if to.Fee != nil {
		to.Fee[x] = t.Fee[y]
	}
	for q, values := range to.Usage {
		if values != nil {
			values[x] = t.Usage[q][y]
		}
	}
	if to.Propensity != nil {
		to.Propensity[x] = t.Propensity[y]
	}
	if to.Predictions != nil {
		to.Predictions[x] = t.Predictions[y]
	}
	for i, f := range facts {
		if err := f.Copy(x, &t.Facts[i], y); err != nil {
			return err
		}
	}
	return nil
}
