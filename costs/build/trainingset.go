package build

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pipe/costs/builder/part"
	"pipe/internal/parallel"
	"pipe/onnx"
)

// trainingSet is what an expert learns from: its examples as rows of numbers.
type trainingSet struct {
	Width   int
	Classes int
	X       []float32 // rows x Width
	Class   []int     // per row
}

// Len is the number of rows.
func (s *trainingSet) Len() int { return len(s.Class) }

// Row returns a row; nothing is copied.
func (s *trainingSet) Row(i int) []float32 { return s.X[i*s.Width : (i+1)*s.Width] }

// sample returns up to n rows, evenly spread.
func (s *trainingSet) sample(n int) []float32 {
	n = min(n, s.Len())
	out := make([]float32, 0, n*s.Width)
	for i := range n {
		out = append(out, s.Row(i*s.Len()/n)...)
	}
	return out
}

// subset copies the given rows.
func (s *trainingSet) subset(rows []int32) *trainingSet {
	out := &trainingSet{Width: s.Width, Classes: s.Classes, X: make([]float32, 0, len(rows)*s.Width)}
	for _, r := range rows {
		out.X = append(out.X, s.Row(int(r))...)
		out.Class = append(out.Class, s.Class[r])
	}
	return out
}

// lesson is one model to make: rows of the set, rising.
type lesson struct {
	model int // of Lessons
	rows  []int32
}

// classifier is what a teacher has made. Both halves are valid only while the
// teacher waits for Done.
type classifier struct {
	Model *onnx.Model // input "rows", output "probability": [n, 1], that of class 1, of two classes, else [n, classes]
	// Probability is the trainer's own opinion of rows, in the form of the output.
	Probability func(rows []float32) ([]float64, error)
}

// teaching is what a teacher may use.
type teaching struct {
	*part.Preparation
	Name string // of the expert
	Seed uint64
	Done func(l lesson, c *classifier) error // takes a classifier over
}

// gatherRows is how many examples are read at a time.
const gatherRows = 4096

// gather turns every example into a row.
func (e *trained) gather(ctx context.Context, t *part.Preparation) (*trainingSet, error) {
	reader, err := e.examples.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	set := &trainingSet{Width: e.coder.Width(), Classes: len(e.lessons.Labels), Class: e.lessons.Class}
	set.X = make([]float32, len(set.Class)*set.Width)
	t.Progress.Start(int64(set.Len()), "rows of "+e.name)
	defer t.Progress.Done()
	chunks := (set.Len() + gatherRows - 1) / gatherRows
	err = parallel.Each(ctx, t.Workers, chunks, func(ctx context.Context, i int) error {
		from := i * gatherRows
		to := min(from+gatherRows, set.Len())
		batch, shown, err := reader.Read(ctx, from, to)
		if err != nil {
			return err
		}
		if err := e.coder.Code(ctx, set.X[from*set.Width:to*set.Width], batch, [][]part.Shown{shown}); err != nil {
			return err
		}
		t.Progress.Add(int64(to - from))
		return nil
	})
	return set, err
}

// oversample repeats rows of the smaller classes until all have as many as the
// largest: every row the same number of times, and what is left over drawn
// without repetition.
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
			panic(fmt.Sprintf("build: class %d has no row", c))
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
