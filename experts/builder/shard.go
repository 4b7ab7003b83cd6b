package builder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// build makes the tensor of one shard, batch by batch. log gets what is shown.
func (p *plan) build(ctx context.Context, shard int, log *audit) (*costs.Tensor, error) {
	rows := p.rows(shard)
	t := p.blank(rows)
	facts := p.factSheet(t)
	for _, b := range p.cut(rows) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.fill(ctx, t, facts, b.rows, b.at, log); err != nil {
			return nil, err
		}
	}
	facts.finish()
	return t, nil
}

// piece is some rows of a list that are loaded together.
type piece struct {
	at   int // of the first one in the list
	rows []int
}

// cut makes batches of rows: as large as the configuration says, or as memory holds.
func (p *plan) cut(rows []int) []piece {
	var list []piece
	for at := 0; at < len(rows); {
		some := rows[at:min(at+p.cfg.Batch, len(rows))]
		some = some[:p.fit(some)]
		list = append(list, piece{at, some})
		at += len(some)
	}
	return list
}

// fit returns how many of the rows, of which there is one at least, may be loaded together: at least one.
func (p *plan) fit(rows []int) int {
	b, ok := p.Source.(part.BatchLimiter)
	if !ok {
		return len(rows)
	}
	return min(max(b.Fit(rows), 1), len(rows))
}

// blank returns a tensor of the given instances whose cells are still empty.
func (p *plan) blank(rows []int) *costs.Tensor {
	cells := len(rows) * p.actions.Len()
	t := &costs.Tensor{
		Actions: p.actions, Dim: p.options.Dim,
		Features:    make([]float32, len(rows)*p.options.Dim),
		Loss:        make([]float32, cells),
		Predictions: make([]string, cells),
	}
	if p.options.Fee {
		t.Fee = make([]float32, cells)
	}
	for i := range t.Loss {
		t.Loss[i] = float32(math.NaN())
	}
	p.complete(t)
	entries := p.Source.Entries()
	for _, row := range rows {
		t.IDs = append(t.IDs, entries[row].ID)
		t.Splits = append(t.Splits, p.splits[row])
		if p.options.Groups {
			t.Groups = append(t.Groups, entries[row].Group)
		}
		if p.options.Labels {
			t.Labels = append(t.Labels, entries[row].Label)
		}
	}
	return t
}

// complete gives a tensor the columns of usage and facts of this build. In one that lacks them they are not known.
func (p *plan) complete(t *costs.Tensor) {
	p.completeFacts(t)
	for q, wanted := range p.options.Usage {
		switch {
		case !wanted:
			t.Usage[q] = nil
		case t.Usage[q] == nil:
			t.Usage[q] = slices.Repeat([]float32{float32(math.NaN())}, len(t.Loss))
		}
	}
}

// fill computes the cells of a batch, which starts at row at of the tensor.
func (p *plan) fill(ctx context.Context, t *costs.Tensor, facts *factSheet, rows []int, at int, log *audit) error {
	instances, err := p.Load(ctx, rows)
	if err != nil {
		return err
	}
	b := &part.Batch{Instances: instances}
	if b.Answers, err = p.answers(ctx, instances, log); err != nil {
		return err
	}
	for j := range p.Experts {
		for k, level := range b.Answers[j] {
			if level == nil {
				continue
			}
			if err := p.judge(ctx, t, b.Instances, level, at, p.actions.Index(j, k)); err != nil {
				return err
			}
		}
	}
	if err := facts.add(ctx, b, at); err != nil {
		return err
	}
	return p.encode(ctx, t, b, at)
}

// answers asks every expert under every advice that it takes.
func (p *plan) answers(ctx context.Context, batch []part.Instance, log *audit) ([][][]part.Prediction, error) {
	shown := make([][]part.AdvicePayload, len(p.Levels))
	for k := range p.Levels {
		var err error
		if shown[k], err = p.show(ctx, k, batch); err != nil {
			return nil, err
		}
	}
	if err := log.add(p.LevelNames(), batch, shown); err != nil {
		return nil, err
	}
	part.ShareSizes(batch, shown)
	all := make([][][]part.Prediction, len(p.Experts))
	for j, e := range p.Experts {
		levels := make([][]part.AdvicePayload, len(shown))
		for k := range shown {
			if e.Takes[k] {
				levels[k] = shown[k]
			}
		}
		var err error
		if all[j], err = e.Predict(ctx, batch, levels); err != nil {
			return nil, fmt.Errorf("expert %q: %w", e.Name, err)
		}
		if err := p.checkAnswers(e, batch, all[j]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// show asks one level of advice.
func (p *plan) show(ctx context.Context, level int, batch []part.Instance) ([]part.AdvicePayload, error) {
	name := p.actions.Advice[level].Name
	shown, err := p.Levels[level].Advice.Show(ctx, batch)
	if err == nil {
		err = p.checkShown(batch, shown)
	}
	if err != nil {
		return nil, fmt.Errorf("advice %q: %w", name, err)
	}
	return shown, nil
}

// judge writes the losses of one action.
func (p *plan) judge(ctx context.Context, t *costs.Tensor, batch []part.Instance, answers []part.Prediction, at, action int) error {
	losses, err := p.losses(ctx, batch, answers)
	if err != nil {
		return fmt.Errorf("action %s: %w", p.actions.Name(action), err)
	}
	for n, answer := range answers {
		cell := (at+n)*p.actions.Len() + action
		t.Predictions[cell], t.Loss[cell] = answer.Label, losses[n]
		if t.Fee != nil {
			t.Fee[cell] = answer.Fee
			if p.latencyFee != nil {
				t.Fee[cell] += p.latencyFee[action]
			}
		}
		for q, values := range t.Usage {
			if values != nil && answer.Usage != nil {
				values[cell] = answer.Usage[q]
			}
		}
	}
	return nil
}

// encode writes the features, block by block, into the rows of the tensor.
func (p *plan) encode(ctx context.Context, t *costs.Tensor, b *part.Batch, at int) error {
	offset := 0
	for i, f := range p.features {
		dim := p.dims[i]
		block := make([]float32, len(b.Instances)*dim)
		if err := f.Encode(ctx, block, b); err != nil {
			return fmt.Errorf("%s: %w", p.featurePart(i), err)
		}
		for n := range b.Instances {
			copy(t.Row(at + n)[offset:offset+dim], block[n*dim:])
		}
		offset += dim
	}
	return nil
}
