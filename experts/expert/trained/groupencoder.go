package trained

import (
	"context"
	"fmt"
	"math"
	"sync"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// groupEncoder encodes the disclosed column groups of rows of an encoded table. It
// writes the columns of a layout, with those of hidden groups replaced, and then
// one indicator (1 if shown, else 0) per group after the first. Without the
// indicators a hidden group would look like one at its mean.
type groupEncoder struct {
	encoder *tabular.Encoder
	layout  tabular.Layout
	ends    []int   // of the groups in the layout
	hidden  float32 // replaces a hidden column
	scratch sync.Pool
}

// newGroupEncoder returns an encoder that replaces hidden columns by 0, the mean,
// in the dense layout, and by NaN, a missing value, in the layout for trees.
func newGroupEncoder(s *part.Setup, layout tabular.Layout) (*groupEncoder, error) {
	e, err := s.Encoder()
	if err != nil {
		return nil, err
	}
	c := &groupEncoder{encoder: e, layout: layout, ends: e.GroupEnds(layout)}
	if layout == tabular.LayoutTree {
		c.hidden = float32(math.NaN())
	}
	c.scratch.New = func() any {
		row := make([]float32, e.Width(layout))
		return &row
	}
	return c, nil
}

// Width is the layout's plus one indicator per group after the first.
func (c *groupEncoder) Width() int { return c.encoder.Width(c.layout) + len(c.ends) - 1 }

// Encode encodes each instance once, and hides columns per level.
func (c *groupEncoder) Encode(_ context.Context, dst []float32, batch []part.Instance, shown [][]part.AdvicePayload) error {
	whole := c.scratch.Get().(*[]float32)
	defer c.scratch.Put(whole)
	for n := range batch {
		if batch[n].Values == nil {
			return fmt.Errorf("instance %q has no encoded values", batch[n].ID)
		}
		c.encoder.Encode(*whole, batch[n].Values, c.layout)
		for k := range shown {
			if shown[k] == nil {
				continue
			}
			c.disclose(dst[:c.Width()], *whole, shown[k][n].Groups)
			dst = dst[c.Width():]
		}
	}
	return nil
}

// disclose writes one row. If advice shows no groups, the first one is shown.
func (c *groupEncoder) disclose(dst, whole []float32, groups []bool) {
	from, indicators := 0, dst[len(whole):]
	for g, end := range c.ends {
		shown := g == 0
		if groups != nil {
			shown = groups[g]
		}
		if shown {
			copy(dst[from:end], whole[from:end])
		} else {
			fill(dst[from:end], c.hidden)
		}
		if g > 0 {
			indicators[g-1] = 0
			if shown {
				indicators[g-1] = 1
			}
		}
		from = end
	}
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}
