package trained

import (
	"fmt"
	"math/rand/v2"
)

// trainingSet is the training data of an expert as rows of numbers.
type trainingSet struct {
	Width   int
	Classes int
	X       []float32 // rows x Width
	Class   []int     // per row
}

// Len is the number of rows.
func (s *trainingSet) Len() int { return len(s.Class) }

// Row returns a row without copying it.
func (s *trainingSet) row(i int) []float32 { return s.X[i*s.Width : (i+1)*s.Width] }

// sample returns up to n rows, evenly spread.
func (s *trainingSet) sample(n int) []float32 {
	n = min(n, s.Len())
	out := make([]float32, 0, n*s.Width)
	for i := range n {
		out = append(out, s.row(i*s.Len()/n)...)
	}
	return out
}

// subset copies the given rows.
func (s *trainingSet) subset(rows []int32) *trainingSet {
	out := &trainingSet{Width: s.Width, Classes: s.Classes, X: make([]float32, 0, len(rows)*s.Width)}
	for _, r := range rows {
		out.X = append(out.X, s.row(int(r))...)
		out.Class = append(out.Class, s.Class[r])
	}
	return out
}

// oversample repeats rows of the smaller classes until all have as many as the
// largest: every row the same number of times, and the remainder is drawn without
// replacement.
func oversample(rows []int32, class []int, classes int, seed uint64) []int32 {
	groups := make([][]int32, classes)
	most := 0
	for _, r := range rows {
		c := class[r]
		groups[c] = append(groups[c], r)
		most = max(most, len(groups[c]))
	}
	random := rand.New(rand.NewPCG(seed, 0x6f76657273616d))
	out := make([]int32, 0, classes*most)
	for c, g := range groups {
		if len(g) == 0 {
			panic(fmt.Sprintf("trained: class %d has no row", c))
		}
		for range most / len(g) {
			out = append(out, g...)
		}
		rest := random.Perm(len(g))[:most%len(g)]
		for _, i := range rest {
			out = append(out, g[i])
		}
	}
	return out
}
