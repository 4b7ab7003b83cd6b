package lightgbm

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func textOf(t *testing.T, b *Booster) string {
	t.Helper()
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDeterministic: the same call gives the same text, and another seed gives another one.
func TestDeterministic(t *testing.T) {
	l := testLibrary(t)
	s := made(2000, 9, 1)
	p := testParams()
	p.Threads, p.BaggingFraction, p.BaggingFreq, p.FeatureFraction, p.Seed = 2, 0.5, 1, 0.5, 11
	first, _ := fit(t, l, s, p)
	second, _ := fit(t, l, s, p)
	if textOf(t, first) != textOf(t, second) {
		t.Error("two runs give two texts")
	}
	p.Seed++
	third, _ := fit(t, l, s, p)
	if textOf(t, first) == textOf(t, third) {
		t.Error("the seed changes nothing")
	}
}

// TestThreadsNearlyAgree: with weights, the number of threads affects the last digits of leaves. That is why it is a
// parameter, with the same default on every machine.
func TestThreadsNearlyAgree(t *testing.T) {
	l := testLibrary(t)
	s := made(20_000, 9, 4)
	weight := make([]float32, s.rows)
	for i, y := range s.label {
		weight[i] = 0.517 + 13.8*y
	}
	var want []float64
	for threads := 1; threads <= 3; threads++ {
		p := testParams()
		p.Threads = threads
		b, err := l.Train(t.Context(), s.x, s.rows, s.cols, s.label, weight, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		got, err := b.Predict(s.x, s.rows)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		for i := range got {
			if d := math.Abs(got[i] - want[i]); d > 1e-9 {
				t.Fatalf("row %d: %v with one thread, %v with %d", i, want[i], got[i], threads)
			}
		}
	}
}

// TestLearns: the trained model ranks its rows, and weights affect it.
func TestLearns(t *testing.T) {
	l := testLibrary(t)
	s := made(2000, 9, 1)
	b, m := fit(t, l, s, testParams())
	if len(m.Trees) != testParams().Rounds || b.Columns() != s.cols || m.Columns != s.cols {
		t.Fatalf("%d trees on %d columns", len(m.Trees), m.Columns)
	}
	var mean [2]float64
	var count [2]float64
	for i, y := range s.label {
		mean[int(y)] += m.Probability(m.Margin(s.row(i)))
		count[int(y)]++
	}
	if low, high := mean[0]/count[0], mean[1]/count[1]; high-low < 0.3 {
		t.Errorf("mean probability of label 0 is %.3f, of label 1 %.3f", low, high)
	}
	heavy := make([]float32, s.rows)
	for i, y := range s.label {
		heavy[i] = 1 + 9*y
	}
	wb, err := l.Train(t.Context(), s.x, s.rows, s.cols, s.label, heavy, testParams(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer wb.Close()
	plain, err := b.Predict(s.x, s.rows)
	if err != nil {
		t.Fatal(err)
	}
	weighted, err := wb.Predict(s.x, s.rows)
	if err != nil {
		t.Fatal(err)
	}
	if sum(weighted) <= sum(plain)*1.1 {
		t.Errorf("ten times the weight on label 1: mean probability from %v to %v", sum(plain), sum(weighted))
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func TestTrainProgressAndCancel(t *testing.T) {
	l := testLibrary(t)
	s := made(500, 4, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var rounds []int
	_, err := l.Train(ctx, s.x, s.rows, s.cols, s.label, nil, testParams(), func(round int) {
		rounds = append(rounds, round)
		if round == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(rounds, []int{1, 2, 3}) {
		t.Errorf("error is %v after rounds %v", err, rounds)
	}
	if _, err := l.Train(ctx, s.x, s.rows, s.cols, s.label, nil, testParams(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

func TestTrainErrors(t *testing.T) {
	l := testLibrary(t)
	s := made(100, 3, 1)
	nan := float32(math.NaN())
	good := testParams()
	bad := good
	bad.Leaves, bad.LearningRate = 1, math.NaN()
	for want, c := range map[string]struct {
		x, label, weight []float32
		p                Params
	}{
		"leaves is 1":                        {s.x, s.label, nil, bad},
		"learning_rate is NaN":               {s.x, s.label, nil, bad},
		"299 values for a matrix of 100 x 3": {s.x[1:], s.label, nil, good},
		"99 labels for 100 rows":             {s.x, s.label[1:], nil, good},
		"row 0: label 2":                     {s.x, slices.Concat([]float32{2}, s.label[1:]), nil, good},
		"row 0: label NaN":                   {s.x, slices.Concat([]float32{nan}, s.label[1:]), nil, good},
		"every label is 0":                   {s.x, make([]float32, 100), nil, good},
		"every label is 1":                   {s.x, slices.Repeat([]float32{1}, 100), nil, good},
		"1 weights for 100 rows":             {s.x, s.label, []float32{1}, good},
		"row 0: weight 0":                    {s.x, s.label, make([]float32, 100), good},
	} {
		_, err := l.Train(t.Context(), c.x, 100, 3, c.label, c.weight, c.p, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestNativeErrors: errors of LightGBM keep their own message.
func TestNativeErrors(t *testing.T) {
	l := testLibrary(t)
	err := l.call("train", func(n *native) int32 {
		var handle uintptr
		return n.boosterLoad("tree\nno model", new(int32), &handle)
	})
	if err == nil || !strings.Contains(err.Error(), "Model file doesn't specify") {
		t.Errorf("error is %v", err)
	}
}

// TestUnlearnable: constant columns, columns without a value and a single row per class give a constant model.
func TestUnlearnable(t *testing.T) {
	l := testLibrary(t)
	nan := float32(math.NaN())
	for name, x := range map[string][]float32{
		"constant": {1, 1, 1, 1},
		"missing":  {nan, nan, nan, nan},
		"infinite": {float32(math.Inf(1)), float32(math.Inf(-1)), 0, nan},
	} {
		b, err := l.Train(t.Context(), x, 4, 1, []float32{0, 1, 0, 1}, nil, testParams(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := b.Predict(x, 4)
		if err != nil || slices.ContainsFunc(p, func(v float64) bool { return math.Abs(v-0.5) > 1e-9 }) {
			t.Errorf("%s: probabilities %v, %v", name, p, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBoosterClose(t *testing.T) {
	l := testLibrary(t)
	s := made(200, 3, 1)
	b, _ := fit(t, l, s, testParams())
	for _, x := range [][]float32{s.x[1:], nil} {
		if _, err := b.Predict(x, s.rows); err == nil {
			t.Errorf("%d values are accepted", len(x))
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := b.Predict(s.x, s.rows); err != nil && !errors.Is(err, errClosed) {
				t.Error(err)
			}
		})
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if _, err := b.Predict(s.x, s.rows); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
	if _, err := b.Text(); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
}

// TestNoGrowth: training two hundred models does not grow the memory of the process.
func TestNoGrowth(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes more")
	}
	l := testLibrary(t)
	s := made(1000, 20, 1)
	p := testParams()
	p.Rounds = 3
	cycles := func(n int) {
		for range n {
			b, err := l.Train(t.Context(), s.x, s.rows, s.cols, s.label, nil, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Predict(s.x, s.rows); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cycles(20)
	before := resident(t)
	cycles(200)
	// A data set that is not freed costs some 80 kB, which makes 16 MB.
	if grown := resident(t) - before; grown > 4<<20 {
		t.Errorf("grew by %d bytes", grown)
	}
}

// TestMemoryGoesBack: the C library returns the memory of a training, if it has a function for that.
func TestMemoryGoesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes more")
	}
	l := testLibrary(t)
	if runtime.GOOS != "linux" || l.native.trim == nil {
		t.Skip("reads /proc, and needs malloc_trim")
	}
	s := made(40_000, 150, 4)
	p := testParams()
	p.Rounds, p.Leaves, p.Bins, p.Threads = 5, 31, 255, 2
	debug.FreeOSMemory()
	before := resident(t)
	b, err := l.Train(t.Context(), s.x, s.rows, s.cols, s.label, nil, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	debug.FreeOSMemory()
	if grown := resident(t) - before; grown > 10<<20 {
		t.Errorf("%d bytes are left after a training", grown)
	}
}

func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestSilent: trainings that LightGBM warns about write nothing. They run in a separate process, so that all its output
// can be read.
func TestSilent(t *testing.T) {
	testLibrary(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), binary, "-test.run=^TestUnlearnable$", "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestUnlearnable") {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "LightGBM]") {
		t.Errorf("%s", out)
	}
}
