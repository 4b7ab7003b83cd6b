package parttest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/featurize/tabular"
	"pipe/internal/storage"
)

// Groups returns the column groups of a frame of Frame, in the order of disclosure. amount and city are weakly correlated
// with the label, age more, device most.
func Groups() []tabular.Group {
	return []tabular.Group{
		{Name: "base", Numeric: []string{"amount", "serial"}, Categorical: []string{"city"}},
		{Name: "contact", Numeric: []string{"age"}},
		{Name: "identity", Numeric: []string{"score"}, Categorical: []string{"device"}},
	}
}

// Frame draws n rows of a table: about one in six is positive, and the columns city, age and score have gaps. serial is the
// number of the row.
func Frame(n int, seed uint64) *tabular.Frame {
	r := rand.New(rand.NewPCG(seed, 7))
	f := &tabular.Frame{File: "test.csv"}
	amount, serial, age, score := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	city, device := make([]int32, n), make([]int32, n)
	for i := range n {
		positive := r.Float64() < 1.0/6
		y := 0.0
		if positive {
			y = 1
		}
		f.IDs, f.Labels, f.Lines = append(f.IDs, fmt.Sprintf("t%d", i)), append(f.Labels, int8(y)), append(f.Lines, int32(i+2))
		gap := func(v float64) float32 {
			if r.Float64() < 0.1 {
				return float32(math.NaN())
			}
			return float32(v)
		}
		amount[i], serial[i] = float32(math.Exp(3+r.NormFloat64()+0.3*y)), float32(i)
		age[i], score[i] = gap(40+10*r.NormFloat64()-8*y), gap(r.NormFloat64()+0.5*y)
		city[i], device[i] = int32(r.IntN(4))-1, int32(r.IntN(3))
		if positive && r.Float64() < 0.8 {
			device[i] = 2
		}
	}
	levels := func(names ...string) []string { return names }
	f.Columns = []tabular.FrameColumn{
		{Name: "amount", Numbers: amount},
		{Name: "serial", Numbers: serial},
		{Name: "city", Categorical: true, Codes: city, Levels: levels("ulm", "bonn", "kiel")},
		{Name: "age", Group: 1, Numbers: age},
		{Name: "score", Group: 2, Numbers: score},
		{Name: "device", Group: 2, Categorical: true, Codes: device, Levels: levels("phone", "desk", "odd")},
	}
	return f
}

// WriteTable writes a frame as an encoded table whose every fourth row is for validation. An error ends the test.
func WriteTable(t testing.TB, path string, f *tabular.Frame, groups []tabular.Group) {
	t.Helper()
	s := &tabular.Schema{ID: "id", Label: "fraud", Labels: []string{"no", "fraud"}, MaxLevels: 8, MinCount: 1, Groups: groups}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	splits, train := make([]string, f.Len()), []int(nil)
	for i := range splits {
		splits[i] = "val"
		if i%4 != 3 {
			splits[i], train = "train", append(train, i)
		}
	}
	e, err := tabular.Fit(f, s, train)
	if err != nil {
		t.Fatal(err)
	}
	if err := tabular.WriteTable(context.Background(), storage.File(path), e, f, splits, nil); err != nil {
		t.Fatal(err)
	}
}
