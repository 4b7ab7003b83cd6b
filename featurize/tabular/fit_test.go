package tabular

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const fitPrimary = `key,bad,when,amount,n_1,n_2,kind,far
a,0,0,0,1,7,x,
b,1,3600,1,2,7,y,1
c,0,90000,,3,7,x,
d,1,604800,3,,7,y,3
e,0,86400,1000,4,7,z,
f,1,0,-5,9,8,w,2
`

const fitJoined = `key,place,own
b,490.0,T
d,490,T
f,12,F
`

// Codes, fills, indicators and layouts of a table small enough to do by hand.
func TestFitByHand(t *testing.T) {
	s := smallSchema()
	f := mustLoad(t, s, fitPrimary, fitJoined)
	e := mustFit(t, f, s, []int{0, 1, 2, 3, 4}) // row f is not a training row
	wantColumns := []Column{
		{Name: "when", Time: true},
		{Name: "amount"},
		{Name: "n_1"},
		{Name: "n_2"},
		{Name: "kind", Categorical: true},
		{Name: "far", Group: 1},
		{Name: "place", Group: 1, Categorical: true},
		{Name: "own", Group: 1, Categorical: true},
	}
	if d := cmp.Diff(wantColumns, e.Columns()) + cmp.Diff([]string{"base", "more"}, e.Groups()); d != "" {
		t.Error(d)
	}
	// x and y are in two rows each; z in one, and w in none of training.
	if d := cmp.Diff([]string{"x", "y"}, e.Levels(4)) + cmp.Diff([]string{"z"}, e.fitted.Columns[4].Rare); d != "" {
		t.Error(d)
	}
	gap := nan32
	wantValues := [][]float32{
		{0, 0, 1, 7, 2, gap, gap, gap},
		{1, 1, 2, 7, 3, 1, 2, 2},
		{25, gap, 3, 7, 2, gap, gap, gap},
		{0, 3, gap, 7, 3, 3, 2, 2},
		{24, 1000, 4, 7, CodeRare, gap, gap, gap},
		{0, -5, 9, 8, CodeUnseen, 2, CodeUnseen, CodeUnseen},
	}
	values := make([]float32, 8)
	for row, want := range wantValues {
		e.Values(values, f, row)
		if d := cmp.Diff(want, values, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("row %d: %s", row, d)
		}
	}
	wantNames := []string{
		"when hour sin", "when hour cos", "when weekday sin", "when weekday cos", "amount", "n_1", "n_2", "kind=x", "kind=y", "kind pooled",
		"missing amount", "missing n_1", "far", "place=490", "own=T", "missing far (and 2 more)",
	}
	if d := cmp.Diff(wantNames, e.Names(LayoutDense)) + cmp.Diff([]int{12, 16}, e.GroupEnds(LayoutDense)); d != "" {
		t.Error(d)
	}
	wantTree := []string{"when hour", "when weekday", "amount", "n_1", "n_2", "kind", "far", "place", "own"}
	if d := cmp.Diff(wantTree, e.Names(LayoutTree)) + cmp.Diff([]int{6, 9}, e.GroupEnds(LayoutTree)); d != "" {
		t.Error(d)
	}
	checkByHand(t, e, wantValues)
}

func checkByHand(t *testing.T, e *Encoder, values [][]float32) {
	t.Helper()
	// n_1 of the training rows with the gap filled: 1 2 3 2 4.
	mean, std := 2.4, math.Sqrt((1.96+0.16+0.36+0.16+2.56)/5)
	// The logarithm of amounts 0 1 (1) 3 1000; their lower median is 1.
	logs := []float64{0, math.Log(2), math.Log(2), math.Log(4), math.Log(1001)}
	logMean, logStd := moments(logs)
	at := func(v, mean, std float64) float32 { return float32((v - mean) / std) }
	// far with its gaps filled: 1 1 1 3 1, mean 1.4, deviation 0.8.
	hour := math.Pi / 12
	day := 2 * math.Pi / 7
	for row, want := range map[int][]float32{
		2: {
			float32(math.Sin(hour)), float32(math.Cos(hour)), float32(math.Sin(day)), float32(math.Cos(day)),
			at(logs[2], logMean, logStd), at(3, mean, std), 0, 1, 0, 0, 1, 0, at(1, 1.4, 0.8), 0, 0, 1,
		},
		5: {0, 1, 0, 1, at(-math.Log(6), logMean, logStd), at(9, mean, std), 0, 0, 0, 1, 0, 0, at(2, 1.4, 0.8), 0, 0, 0},
	} {
		got := make([]float32, e.Width(LayoutDense))
		e.Encode(got, values[row], LayoutDense)
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Errorf("row %d, dense: %s", row, d)
		}
	}
	got := make([]float32, e.Width(LayoutTree))
	e.Encode(got, values[2], LayoutTree)
	if d := cmp.Diff([]float32{1, 1, nan32, 3, 7, 2, nan32, nan32, nan32}, got, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("tree: %s", d)
	}
}

func moments(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		std += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(std)
}

func TestFitRefuses(t *testing.T) {
	s := smallSchema()
	f := mustLoad(t, s, fitPrimary, fitJoined)
	unlabelled := mustLoad(t, s, "key,when,far\na,1,2\n", "")
	for name, c := range map[string]struct {
		frame *Frame
		train []int
		says  string
	}{
		"no rows":   {f, nil, "there are no training rows"},
		"one class": {f, []int{0, 2, 4}, `all 3 training rows have label "0"`},
		"no labels": {unlabelled, []int{0}, "is missing; an encoder is fitted on labelled rows"},
	} {
		_, err := Fit(c.frame, s, c.train)
		if data := dataError(t, err); data.File == "" || !strings.Contains(data.Msg, c.says) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// The element is the one that sorting finds.
func TestLowerMedian(t *testing.T) {
	number := rapid.OneOf(rapid.Float32(), rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) / 2 }))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(number, 1, 60).Draw(t, "values")
		got, err := medianOf([]keyCounter{numbers(values[:len(values)/3]), numbers(values[len(values)/3:])}, int64(len(values)))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(values)
		if want := values[(len(values)-1)/2]; got != want {
			t.Fatalf("%v of %v, expected %v", got, values, want)
		}
	})
}

// Laws of the dense layout on random tables: over the training rows a number
// has mean 0 and deviation 1 (if nothing is clipped) or is 0 throughout; every
// element is finite and within the clip; a category has at most one 1; the
// groups end where the names say.
func TestDenseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := smallSchema()
		f, train := drawFrame(t)
		e, err := Fit(f, s, train)
		if err != nil {
			t.Fatal(err)
		}
		width := e.Width(LayoutDense)
		dense, values := make([]float32, width*f.Len()), make([]float32, len(e.Columns()))
		for row := range f.Len() {
			e.Values(values, f, row)
			e.Encode(dense[row*width:][:width], values, LayoutDense)
		}
		for i, v := range dense {
			if !(v >= -ClipDeviations && v <= ClipDeviations) {
				t.Fatalf("element %s is %v", e.Names(LayoutDense)[i%width], v)
			}
		}
		for c, column := range e.fitted.Columns {
			if column.Kind == kindNumber {
				checkStandard(t, column, dense, e.dense.at[c], width, train)
			}
		}
		checkOneHot(t, e, dense)
	})
}

func drawFrame(t *rapid.T) (*Frame, []int) {
	rows := rapid.IntRange(4, 80).Draw(t, "rows")
	seed := rapid.Uint64().Draw(t, "seed")
	primary, joined := randomTable(rand.New(rand.NewPCG(seed, 1)), rows, false)
	f := loadText(t, primary, joined)
	var train []int
	for row := range rows {
		if row%4 != 0 {
			train = append(train, row)
		}
	}
	return f, train
}

func checkStandard(t *rapid.T, c fittedColumn, dense []float32, at, width int, train []int) {
	var sum, squares float64
	for _, row := range train {
		v := float64(dense[row*width+at])
		if math.Abs(v) == ClipDeviations {
			return
		}
		sum += v
		squares += v * v
	}
	n := float64(len(train))
	if constant := c.Std == 0; constant && squares != 0 ||
		!constant && (math.Abs(sum/n) > 1e-5 || math.Abs(squares/n-1) > 1e-4) {
		t.Fatalf("column %s: mean %v, mean square %v", c.Name, sum/n, squares/n)
	}
}

func checkOneHot(t *rapid.T, e *Encoder, dense []float32) {
	for first := 0; first < len(dense); first += e.Width(LayoutDense) {
		for c, column := range e.fitted.Columns {
			if column.Kind != kindCategory {
				continue
			}
			var sum float32
			for _, v := range dense[first+e.dense.at[c]:][:column.denseWidth()] {
				sum += v
			}
			if sum != 0 && sum != 1 {
				t.Fatalf("column %s sums to %v", column.Name, sum)
			}
		}
	}
}

// Rows that are not for training, and the order of the others, do not change
// the encoder; more training rows do.
func TestFitUsesTrainingRowsOnly(t *testing.T) {
	s := smallSchema()
	primary, joined := randomTable(rand.New(rand.NewPCG(8, 8)), 200, false)
	f := mustLoad(t, s, primary, joined)
	e := mustFit(t, f, s, upTo(150))
	lines := strings.SplitAfter(primary, "\n")
	shorter := mustLoad(t, s, strings.Join(lines[:151], ""), joined)
	if got := mustFit(t, shorter, s, upTo(150)); got.Digest() != e.Digest() {
		t.Error("rows behind the training rows change the encoder")
	}
	if got := mustFit(t, f, s, upTo(151)); got.Digest() == e.Digest() {
		t.Error("another training row does not change the encoder")
	}
}

// loadText is mustLoad where there is only a rapid.T.
func loadText(t *rapid.T, primary, joined string) *Frame {
	f, err := loadTexts(primary, joined)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadTexts(primary, joined string) (*Frame, error) {
	return withFiles(primary, joined, func(files Files) (*Frame, error) {
		f, _, err := Load(context.Background(), smallSchema(), files, nil)
		return f, err
	})
}
