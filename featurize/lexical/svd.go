package lexical

import (
	"context"
	"fmt"
	"math"
)

// RankError means that more components are asked for than the texts have.
type RankError struct{ Dim, Rank int }

func (e *RankError) Error() string {
	return fmt.Sprintf("%d components are asked for, but the weighted counts of these texts have rank %d", e.Dim, e.Rank)
}

// Hint says what to do about it.
func (e *RankError) Hint() string {
	return fmt.Sprintf("ask for at most %d components (--dim), or fit on more texts", e.Rank)
}

// zeroSingular is the squared singular value, relative to the largest, below which rounding makes it the same as 0.
const zeroSingular = 1e-13

// decomposition is a truncated singular value decomposition of a weighting.
type decomposition struct {
	singular []float64 // falling
	rows     block     // tokens x dim: idf-weighted counts of each token, projected onto the right singular vectors
}

// decompose finds the largest singular values and the rows of the tokens. It works on the smaller of the two products of
// the matrix with its transpose.
func (w *weighting) decompose(ctx context.Context, o Options, progress func(share float64)) (*decomposition, error) {
	texts, features := w.tokens.rows, w.bags.columns
	if most := min(texts, features); o.Dim > most {
		return nil, &RankError{o.Dim, most}
	}
	p := newProducts(w, o.workers())
	a := operator{texts, p.ofTexts}
	if features < texts {
		a = operator{features, p.ofFeatures}
	}
	e, err := largest(ctx, a, o.Dim, o.Seed, progress)
	if err != nil {
		return nil, err
	}
	d := &decomposition{singular: make([]float64, o.Dim)}
	for c, v := range e.values {
		if v <= zeroSingular*e.values[0] {
			return nil, &RankError{o.Dim, c}
		}
		d.singular[c] = math.Sqrt(v)
	}
	right := e.vectors
	if a.size == texts && features >= texts {
		if right, err = p.rightVectors(ctx, e.vectors); err != nil {
			return nil, err
		}
		for c, s := range d.singular {
			right.scale(c, 1/s)
		}
	}
	orient(right)
	d.rows = newBlock(w.bags.rows, o.Dim)
	return d, w.bags.times(ctx, o.workers(), d.rows, right)
}

// orient turns every column so that its element of the largest size is positive.
func orient(b block) {
	for c := range b.width {
		largest := 0.0
		for i := range b.rows {
			if v := b.data[i*b.width+c]; math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest < 0 {
			b.scale(c, -1)
		}
	}
}

// products multiplies with a weighting and its transpose.
type products struct {
	workers            int
	tokens, tokensT    matrix
	features, featureT matrix
}

func newProducts(w *weighting, workers int) *products {
	return &products{workers: workers, tokens: w.tokens, tokensT: w.tokens.transposed(), features: w.bags, featureT: w.bags.transposed()}
}

// chain multiplies src with matrices, the last one first.
func (p *products) chain(ctx context.Context, dst, src block, matrices ...*matrix) error {
	for i := len(matrices) - 1; i >= 0; i-- {
		to := dst
		if i > 0 {
			to = newBlock(matrices[i].rows, src.width)
		}
		if err := matrices[i].times(ctx, p.workers, to, src); err != nil {
			return err
		}
		src = to
	}
	return nil
}

// ofTexts multiplies with the products of every two texts.
func (p *products) ofTexts(ctx context.Context, dst, src block) error {
	return p.chain(ctx, dst, src, &p.tokens, &p.features, &p.featureT, &p.tokensT)
}

// ofFeatures multiplies with the products of every two features.
func (p *products) ofFeatures(ctx context.Context, dst, src block) error {
	return p.chain(ctx, dst, src, &p.featureT, &p.tokensT, &p.tokens, &p.features)
}

// rightVectors multiplies the left singular vectors with the transpose.
func (p *products) rightVectors(ctx context.Context, left block) (block, error) {
	out := newBlock(p.featureT.rows, left.width)
	return out, p.chain(ctx, out, left, &p.featureT, &p.tokensT)
}
