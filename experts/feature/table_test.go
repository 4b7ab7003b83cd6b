package feature

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// tableSource is a source of rows of a table with the columns a, b and c.
type tableSource struct {
	part.Source
	rows [][]string
}

func (s tableSource) Columns() *part.Columns {
	c := part.NewColumns(storage.File("t.csv"), []string{"a", "b", "c"})
	c.Cell = func(in *part.Instance, column int) string { return s.rows[in.Row][column] }
	return c
}

// batch returns an instance for every row.
func (s tableSource) batch() *part.Batch {
	b := &part.Batch{Instances: make([]part.Instance, len(s.rows))}
	for n := range b.Instances {
		b.Instances[n].Row, b.Instances[n].Line = n, n+2
	}
	return b
}

// TestColumnFeatures draws a table and columns: the features are the cells in the order of the columns, and an empty cell
// is what stands for it, or an error that names it.
func TestColumnFeatures(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"a", "b", "c"}
		src := tableSource{}
		empty := false
		columns := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(r, "columns")
		var want []float32
		for range rapid.IntRange(1, 5).Draw(r, "rows") {
			row := make([]string, len(names))
			values := make([]float32, len(names))
			for i := range row {
				values[i] = -9
				if rapid.Bool().Draw(r, "there") {
					values[i] = rapid.Float32Range(-1e9, 1e9).Draw(r, "value")
					row[i] = strconv.FormatFloat(float64(values[i]), 'g', -1, 32)
				}
			}
			for _, c := range columns {
				at := slices.Index(names, c)
				want, empty = append(want, values[at]), empty || row[at] == ""
			}
			src.rows = append(src.rows, row)
		}
		encode := func(settings map[string]any) ([]float32, error) {
			b := &part.Build{Source: src, Inputs: part.Inputs{}}
			f, err := newColumnFeatures(t.Context(), b.Setup("features[0] columns"), settings)
			if err != nil {
				r.Fatal(err)
			}
			if f.Dim() != len(columns) {
				r.Fatalf("%d features of %v", f.Dim(), columns)
			}
			dst := make([]float32, len(src.rows)*f.Dim())
			return dst, f.Encode(t.Context(), dst, src.batch())
		}
		got, err := encode(map[string]any{"columns": columns, "missing": -9})
		if err != nil || !slices.Equal(got, want) {
			r.Fatalf("%v, %v, want %v", got, err, want)
		}
		got, err = encode(map[string]any{"columns": columns})
		if (err != nil) != empty || err == nil && !slices.Equal(got, want) || err != nil && !strings.Contains(err.Error(), "is empty; set missing") {
			r.Fatalf("without missing: %v, %v", got, err)
		}
	})
}

// guesser is an expert of two labels that answers under some levels of advice.
type guesser struct{ part.Expert }

func (guesser) Labels() []string { return []string{"x", "y"} }

// TestExpertFeatures: the features are the probabilities of the named expert under the first level of advice.
func TestExpertFeatures(t *testing.T) {
	b := &part.Build{Inputs: part.Inputs{}, Experts: []part.NamedExpert{
		{Expert: guesser{}, Name: "late", Takes: []bool{false, true}},
		{Expert: guesser{}, Name: "both", Takes: []bool{true, true}},
		{Expert: struct{ part.Expert }{}, Name: "mute", Takes: []bool{true, true}},
	}}
	s := b.Setup("features[0] expert")
	f, err := newExpertProbabilities(t.Context(), s, map[string]any{"expert": "both"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Dim() != 2 || f.Name() != "expert both" || f.(part.DerivedFeature).From() != part.ExpertName("both") {
		t.Errorf("%q of %d numbers, from %s", f.Name(), f.Dim(), f.(part.DerivedFeature).From())
	}
	answer := func(p ...float32) []part.Prediction {
		return []part.Prediction{{Probabilities: p}, {Probabilities: []float32{0.5, 0.5}}}
	}
	batch := &part.Batch{Instances: []part.Instance{{Entry: part.Entry{ID: "q"}}, {}}}
	batch.Answers = [][][]part.Prediction{{nil, answer(0, 1)}, {answer(0.25, 0.75), answer(1, 0)}, {answer(), answer()}}
	dst := make([]float32, 4)
	if err := f.Encode(t.Context(), dst, batch); err != nil || !slices.Equal(dst, []float32{0.25, 0.75, 0.5, 0.5}) {
		t.Errorf("%v, %v", dst, err)
	}
	batch.Answers[1][0][0].Probabilities = []float32{1}
	if err := f.Encode(t.Context(), dst, batch); err == nil || !strings.Contains(err.Error(), `instance "q": expert "both" gave 1 probabilities, not 2`) {
		t.Errorf("a short answer: %v", err)
	}
	for name, want := range map[string]string{"late": "has no probabilities without advice", "mute": "has no probabilities without advice", "none": `there is no expert "none"`} {
		if _, err := newExpertProbabilities(t.Context(), s, map[string]any{"expert": name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestPooledFeatures: a grid of one cell is the mean colour of an image, and finer grids have that mean over their cells
// where the cells are of one size.
func TestPooledFeatures(t *testing.T) {
	batch, err := drawnImages{}.Load(context.Background(), []int{4, 16}) // 24 and 36 pixels wide, 15 high
	if err != nil {
		t.Fatal(err)
	}
	means := make(map[int][]float64)
	for _, grid := range []int{1, 3} {
		f, err := newPooled(t.Context(), (&part.Build{Inputs: part.Inputs{}}).Setup("features[0] pooled"), map[string]any{"grid": grid})
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float32, len(batch)*f.Dim())
		if err := f.Encode(t.Context(), dst, &part.Batch{Instances: batch}); err != nil {
			t.Fatal(err)
		}
		means[grid] = make([]float64, 3*len(batch))
		for i, v := range dst {
			means[grid][i/f.Dim()*3+i%3] += float64(v) / float64(grid*grid)
		}
	}
	for n := range batch {
		var want [3]float64
		pix := batch[n].Image.Pix
		for i, v := range pix {
			want[i%3] += float64(v) / 255 / float64(len(pix)/3)
		}
		for c, mean := range want {
			for grid, got := range means {
				if math.Abs(got[3*n+c]-mean) > 1e-5 {
					t.Errorf("grid %d: channel %d of image %d is %v, want %v", grid, c, n, got[3*n+c], mean)
				}
			}
		}
	}
	for _, grid := range []int{0, 257} {
		if _, err := newPooled(t.Context(), (&part.Build{Inputs: part.Inputs{}}).Setup("p"), map[string]any{"grid": grid}); err == nil {
			t.Errorf("a grid of %d", grid)
		}
	}
}
