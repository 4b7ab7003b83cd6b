package lexical

import (
	"math"
	"slices"

	"pipe/featurize/tokenizer"
)

// weighting is the texts as rows of a matrix: scale x tokens x bags x idf, in which each row has length 1. It is never
// made, because its factors are smaller.
type weighting struct {
	tokens matrix    // texts x tokens: weights of the tokens of a text, scaled to a row of length 1
	bags   matrix    // tokens x features, times idf
	idf    []float64 // per feature
	blank  int       // texts without a feature: rows of zeros
}

// weigh makes it of the token ids of the texts.
//
// idf is ln((1 + n) / (1 + m)) + 1 of a feature that m of n texts have, as in scikit-learn.
func weigh(texts []tokenizer.Encoding, v *vocabulary, sublinear bool) *weighting {
	w := &weighting{tokens: tokenWeights(texts, len(v.tokens), sublinear), bags: v.bags, idf: make([]float64, v.features)}
	row := newRowSum(v.features)
	for n := range texts {
		for _, f := range row.of(&w.tokens, &w.bags, n) {
			w.idf[f]++
		}
	}
	for f, m := range w.idf {
		w.idf[f] = math.Log((1+float64(len(texts)))/(1+m)) + 1
	}
	w.bags.value = slices.Clone(w.bags.value)
	for i, f := range w.bags.column {
		w.bags.value[i] *= w.idf[f]
	}
	for n := range texts {
		square := 0.0
		for _, f := range row.of(&w.tokens, &w.bags, n) {
			square += row.sum[f] * row.sum[f]
		}
		if square == 0 {
			w.blank++
			continue
		}
		_, values := w.tokens.row(n)
		for i := range values {
			values[i] /= math.Sqrt(square)
		}
	}
	return w
}

// tokenWeights counts the tokens of texts.
func tokenWeights(texts []tokenizer.Encoding, tokens int, sublinear bool) matrix {
	m := matrix{rows: len(texts), columns: tokens, from: make([]int, 1, len(texts)+1)}
	for _, text := range texts {
		ids := slices.Sorted(slices.Values(text.IDs))
		for at, end := 0, 0; at < len(ids); at = end {
			for end = at; end < len(ids) && ids[end] == ids[at]; {
				end++
			}
			if ids[at] < firstToken {
				continue
			}
			count := float64(end - at)
			if sublinear {
				count = 1 + math.Log(count)
			}
			m.column, m.value = append(m.column, ids[at]), append(m.value, count)
		}
		m.from = append(m.from, len(m.column))
	}
	return m
}

// rowSum is one row of a product of two sparse matrices.
type rowSum struct {
	sum  []float64
	have []bool
	at   []int32
}

func newRowSum(columns int) *rowSum {
	return &rowSum{sum: make([]float64, columns), have: make([]bool, columns)}
}

// of computes row n of a x b and returns its columns.
func (r *rowSum) of(a, b *matrix, n int) []int32 {
	for _, f := range r.at {
		r.sum[f], r.have[f] = 0, false
	}
	r.at = r.at[:0]
	columns, values := a.row(n)
	for i, c := range columns {
		features, counts := b.row(int(c))
		for j, f := range features {
			if !r.have[f] {
				r.have[f], r.at = true, append(r.at, f)
			}
			r.sum[f] += values[i] * counts[j]
		}
	}
	return r.at
}
