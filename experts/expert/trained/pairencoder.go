package trained

import (
	"context"
	"math"

	"pipe/experts/builder/part"
	"pipe/experts/embedding"
)

// pairEncoder encodes a claim and its evidence. c is the vector of the claim, and e
// the mean of the vectors of the shown passages. A row is
//
//	c, e, c*e, |c - e|, 1 if there is evidence or else 0, 1 / number of passages
//
// (the combination of Conneau et al., Supervised Learning of Universal Sentence
// Representations, 2017), with products and differences by component. Without
// passages everything but c is 0. Vectors are multiplied by the square root of their
// dimension, so that the components of a unit vector have mean square 1.
type pairEncoder struct{ embedder *embedding.Embedder }

// Width is four vectors and two indicators.
func (c *pairEncoder) Width() int { return 4*c.embedder.Dim() + 2 }

// Encode looks up the vectors of all texts in one call.
func (c *pairEncoder) Encode(ctx context.Context, dst []float32, batch []part.Instance, shown [][]part.AdvicePayload) error {
	var texts []string
	each := func(do func(in *part.Instance, passages []part.Passage)) {
		for n := range batch {
			for k := range shown {
				if shown[k] != nil {
					do(&batch[n], shown[k][n].Passages)
				}
			}
		}
	}
	for n := range batch {
		if err := batch[n].NeedText(); err != nil {
			return err
		}
	}
	each(func(in *part.Instance, passages []part.Passage) {
		texts = append(texts, in.Text)
		for _, p := range passages {
			texts = append(texts, p.Text)
		}
	})
	vectors, err := c.embedder.Vectors(ctx, texts)
	if err != nil {
		return err
	}
	each(func(_ *part.Instance, passages []part.Passage) {
		c.code(dst[:c.Width()], vectors[0], vectors[1:1+len(passages)])
		dst, vectors = dst[c.Width():], vectors[1+len(passages):]
	})
	return nil
}

// code writes one row.
func (c *pairEncoder) code(dst, claim []float32, passages [][]float32) {
	dim := len(claim)
	scale := math.Sqrt(float64(dim))
	for i, v := range claim {
		dst[i] = float32(scale * float64(v))
	}
	rest := dst[dim:]
	clear(rest)
	if len(passages) == 0 {
		return
	}
	share := 1 / float64(len(passages))
	for i, v := range claim {
		var sum float64 // in float64 the order of the passages makes almost no difference
		for _, p := range passages {
			sum += float64(p[i])
		}
		a, e := scale*float64(v), scale*share*sum
		rest[i], rest[dim+i], rest[2*dim+i] = float32(e), float32(a*e), float32(math.Abs(a-e))
	}
	rest[3*dim], rest[3*dim+1] = 1, float32(share)
}
