package policy

import (
	"fmt"

	"pipe/onnx"
)

type decodeFixed struct{}

func (decodeFixed) check(p *Policy) error {
	if p.Fixed < 0 || p.Fixed >= p.Actions.Len() || !p.Actions.Available(p.Fixed) {
		return fmt.Errorf("fixed action %d does not exist", p.Fixed)
	}
	if len(p.Members) > 0 {
		return fmt.Errorf("a fixed policy has no members, this one has %d", len(p.Members))
	}
	if p.FixedScores == nil {
		return nil
	}
	if len(p.FixedScores) != p.Actions.Len() {
		return fmt.Errorf("%d fixed scores for %d actions", len(p.FixedScores), p.Actions.Len())
	}
	for i, s := range p.FixedScores {
		if !isFinite(s) {
			return fmt.Errorf("fixed score of %s is %v", p.Actions.Name(i), s)
		}
	}
	if best := argmaxFirst(p.fixedRow()); best != p.Fixed {
		return fmt.Errorf("fixed action is %s, but the fixed scores prefer %s", p.Actions.Name(p.Fixed), p.Actions.Name(best))
	}
	return nil
}

// fixedRow is the row of scores that every instance gets, in the precision of the file, because ties are decided in
// that precision.
func (p *Policy) fixedRow() []float64 {
	row := make([]float64, p.Actions.Len())
	for i := range row {
		switch {
		case p.FixedScores != nil:
			row[i] = float64(float32(p.FixedScores[i]))
		case i != p.Fixed:
			row[i] = -1
		}
	}
	exclude(row, p.Actions.Mask())
	return row
}

func (decodeFixed) scores(dst []float64, p *Policy, _ []float64) { copy(dst, p.fixedRow()) }

// graph repeats the row over the batch; it uses the features only for their number of rows.
func (decodeFixed) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	row := p.fixedRow()
	constant := make([]float32, len(row))
	for i, v := range row {
		constant[i] = float32(v)
	}
	scores := g.Const(onnx.Float32s([]int64{1, int64(len(row))}, constant))
	column := g.Slice(features, []int64{0}, []int64{1}, []int64{1}, []int64{1}) // batch x 1
	// Both branches are the same row: the condition only provides the batch size.
	return values{scores: g.Where(g.Equal(column, column), scores, scores)}
}
