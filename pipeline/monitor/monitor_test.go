package monitor

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/drift"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

func TestMain(m *testing.M) { orttest.Main(m) }

const dim = 3

// world draws rows: two numbers and a category. Pairs are wrong more often where the first number is high, and by worse.
func world(random *rand.Rand, actions *costs.Actions, rows int, shift, worse float64) *costs.Tensor {
	t := &costs.Tensor{Actions: actions, Dim: dim}
	mask := actions.Mask()
	for n := range rows {
		x := random.NormFloat64() + shift
		t.IDs = append(t.IDs, strconv.Itoa(n))
		t.Splits = append(t.Splits, costs.Split(n%2)) // half train, half val
		t.Features = append(t.Features, float32(x), float32(random.NormFloat64()), float32(random.IntN(3)))
		for i := range mask {
			loss := float32(0)
			if random.Float64() < 0.3+0.1*math.Tanh(x)-0.02*float64(i)+worse {
				loss = 1
			}
			if !mask[i] {
				loss = float32(math.NaN())
			}
			t.Loss = append(t.Loss, loss)
		}
	}
	return t
}

// lab is a policy and a baseline on disk.
type lab struct {
	rt               *ort.Runtime
	actions          *costs.Actions
	policy, baseline string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	p := decidetest.AnyPrice(dim)
	l := &lab{rt: orttest.Open(t, 1), actions: p.Actions, policy: decidetest.WritePolicy(t, p)}
	l.baseline = l.write(t, world(rand.New(rand.NewPCG(1, 1)), l.actions, 2000, 0, 0))
	return l
}

func (l *lab) write(t testing.TB, tensor *costs.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "costs.parquet")
	if err := costs.Write(t.Context(), storage.File(path), tensor); err != nil {
		t.Fatal(err)
	}
	return path
}

func (l *lab) open(t testing.TB, o Options) *Monitor {
	t.Helper()
	o.Runtime = l.rt
	m, err := Open(t.Context(), storage.File(l.policy), storage.File(l.baseline), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// addAll decides on rows of a tensor and adds them, with the outcomes of the decisions.
func addAll(t testing.TB, m *Monitor, rows *costs.Tensor) {
	t.Helper()
	if rows.Len() == 0 {
		return
	}
	if _, err := m.addRows(t.Context(), "rows", &logRows{n: rows.Len(), features: rows.Features, tensor: rows}, false); err != nil {
		t.Fatal(err)
	}
}

// Saved and restored between any two batches, a monitor ends where one ends that was never interrupted.
func TestStateGoesOn(t *testing.T) {
	l := newLab(t)
	rows := world(rand.New(rand.NewPCG(2, 2)), l.actions, 900, 0.3, 0.2)
	whole, parts := l.open(t, DefaultOptions()), l.open(t, DefaultOptions())
	addAll(t, whole, rows)
	for first := 0; first < rows.Len(); first += 130 {
		var b bytes.Buffer
		if err := parts.Save(&b); err != nil {
			t.Fatal(err)
		}
		parts = l.open(t, DefaultOptions())
		if err := parts.Restore(&b); err != nil {
			t.Fatal(err)
		}
		var part []int
		for n := first; n < min(rows.Len(), first+130); n++ {
			part = append(part, n)
		}
		addAll(t, parts, rows.Subset(part))
	}
	got, want := parts.Status(), whole.Status()
	want.Inputs.MMD.MMD, want.Inputs.MMD.P = got.Inputs.MMD.MMD, got.Inputs.MMD.P // sums in another order
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Verdict != Alarm || got.Outcomes.Verdict != Alarm || !parts.Risen() || got.Inputs.Verdict != Warning || !got.Inputs.Features[0].Changed {
		t.Errorf("a shift and more losses: %+v", got)
	}
	if f := got.Inputs.Features; f[0].Test != testKS || f[2].Test != drift.MethodChiSquare || f[1].Changed || f[2].Changed {
		t.Errorf("features: %+v", f)
	}
	parts.NewWindow()
	if s := parts.Status(); s.Inputs.Verdict != Untested || s.Decisions.Verdict != Untested || s.Outcomes.Known != 900 || s.Outcomes.Alarm.Risen == 0 {
		t.Errorf("a new window: %+v", s)
	}
}

// A state of another policy, baseline or tolerance is refused, and one that was tampered with; then nothing changes.
func TestRestoreRefuses(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	addAll(t, m, world(rand.New(rand.NewPCG(2, 3)), l.actions, 60, 0, 0))
	var b bytes.Buffer
	if err := m.Save(&b); err != nil {
		t.Fatal(err)
	}
	saved := b.String()
	before := m.Status()
	for _, change := range []string{
		``, `{`, `[]`, `null`, `{"format":2}`, saved + saved,
		strings.Replace(saved, `"rows":60`, `"rows":61`, 1), strings.Replace(saved, `"decided":60`, `"decided":59`, 1),
		strings.Replace(saved, `"known":60`, `"known":-1`, 1), strings.Replace(saved, `"known":60`, `"known":61`, 1),
		strings.Replace(saved, `"of":"sha256:`, `"of":"sha256:0`, 1), strings.Replace(saved, `"alarm":{`, `"alarm":null,"x":{`, 1),
		strings.Replace(saved, `"width":60`, `"width":6`, 1), strings.Replace(saved, `"counts":[`, `"counts":[null,`, 1),
	} {
		var data *costs.DataError
		if err := m.Restore(strings.NewReader(change)); !errors.As(err, &data) {
			t.Errorf("%.60q: %v", change, err)
		}
		m.cached = nil
		if diff := cmp.Diff(before, m.Status()); diff != "" {
			t.Fatal(diff)
		}
	}
	o := DefaultOptions()
	o.Tolerance = 0.1
	if err := l.open(t, o).Restore(strings.NewReader(saved)); err == nil {
		t.Error("a state with another tolerance is accepted")
	}
	o = DefaultOptions()
	o.FailOn, o.Warn = Families, 0.05 // no part of what is remembered
	if err := l.open(t, o).Restore(strings.NewReader(saved)); err != nil {
		t.Error(err)
	}
}

func TestAddRefuses(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	inf := math.Inf(1)
	for name, err := range map[string]error{
		"half a row":          m.Add(make([]float32, 4), nil, nil),
		"a feature":           m.Add([]float32{0, 0, float32(inf)}, nil, nil),
		"a decision":          m.Add(nil, []int{9}, nil),
		"an unavailable pair": m.Add(nil, []int{5}, nil),
		"an executed pair":    m.Add(nil, nil, []Outcome{{Executed: -1}}),
		"a decided pair":      m.Add(nil, nil, []Outcome{{Decided: 12}}),
		"a loss":              m.Add(nil, nil, []Outcome{{Loss: inf}}),
	} {
		if err == nil {
			t.Errorf("%s out of range is accepted", name)
		}
	}
	if s := m.Status(); s.New.Rows != 0 || s.Outcomes.Known != 0 || s.Verdict != Untested {
		t.Errorf("something was added: %+v", s)
	}
	if err := m.Add(nil, nil, []Outcome{{Decided: -1, Executed: 0, Loss: 7, Expected: math.NaN(), Time: 5}, {Decided: 1, Loss: math.NaN(), Time: NoTime}, {Time: 4}}); err != nil {
		t.Fatal(err)
	}
	s := m.Status().Outcomes
	if s.Known != 2 || s.Unknown != 1 || s.Clipped != 1 || *s.Agreed != 0.5 || *s.Mean != 3.5 {
		t.Errorf("%+v", s)
	}
	if notes := strings.Join(m.Status().Notes, "\n"); !strings.Contains(notes, "1 outcomes are earlier") || !strings.Contains(notes, "outside of the range 0 to 1") {
		t.Error(notes)
	}
}

// Concurrent additions and looks do not disturb each other.
func TestConcurrentUse(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	done := make(chan bool)
	for g := range 4 {
		go func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 5 {
				addAll(t, m, world(random, l.actions, 40, 0, 0))
				m.Status()
				m.Risen()
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	if s := m.Status(); s.New.Rows != 800 || s.Outcomes.Known != 800 {
		t.Errorf("%d rows, %d outcomes", s.New.Rows, s.Outcomes.Known)
	}
}

// If nothing has changed, runs warn and alarm as rarely as they promise. With $PIPE_MONITOR_SEEDS more runs are made.
func TestFalseAlarms(t *testing.T) {
	seeds := 24
	if v, err := strconv.Atoi(os.Getenv("PIPE_MONITOR_SEEDS")); err == nil {
		seeds = v
	}
	l := newLab(t)
	o := DefaultOptions()
	o.Warn, o.Tolerance = 0.05, 0
	found := map[string]int{}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(uint64(seed), 99))
		l.baseline = l.write(t, world(random, l.actions, 1000, 0, 0))
		o.Seed = uint64(seed)
		m := l.open(t, o)
		addAll(t, m, world(random, l.actions, 700, 0, 0))
		s := m.Status()
		for family, bad := range map[string]bool{
			Inputs: s.Inputs.Verdict != OK, Decisions: s.Decisions.Verdict != OK, Outcomes: s.Outcomes.Verdict == Alarm,
			"one feature": s.Inputs.Changed > 0, "MMD": s.Inputs.MMD.Changed, "ADWIN": s.Outcomes.ADWIN.Changes > 0,
		} {
			if bad {
				found[family]++
			}
		}
	}
	for _, family := range append(slices.Clone(Families), "one feature", "MMD", "ADWIN") {
		n := found[family]
		t.Logf("%-12s %d of %d runs, %.4f", family, n, seeds, float64(n)/float64(seeds))
		level := 0.055 // limits are not exact
		if family == "one feature" || family == "MMD" {
			level /= 2
		}
		b := distuv.Binomial{N: float64(seeds), P: level}
		if family != "ADWIN" && b.Survival(float64(n)-1) < 1e-5 {
			t.Errorf("%s: %d of %d runs", family, n, seeds)
		}
	}
}

// The level of the alarm is a bound of the mean over the decisions on held-out rows only.
func TestBaseline(t *testing.T) {
	l := newLab(t)
	rows := world(rand.New(rand.NewPCG(5, 5)), l.actions, 600, 0, 0)
	for i := range rows.Loss {
		if rows.Splits[i/9] == costs.Train && rows.Loss[i] == rows.Loss[i] {
			rows.Loss[i] = 30 // training rows do not count
		}
	}
	rows.Loss[9] = float32(math.NaN()) // row 1 of pair 0: unknown
	l.baseline = l.write(t, rows)
	m := l.open(t, DefaultOptions())
	var held []int
	for n := 1; n < 600; n += 2 {
		held = append(held, n)
	}
	sub := rows.Subset(held)
	d, err := m.Decide(t.Context(), sub.Features, len(held))
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	total := 0.0
	for i := range held {
		if v := float64(sub.Losses(i)[d.Action[i]]); v == v {
			values, total = append(values, v), total+v
		}
	}
	upper, err := drift.UpperBound(values, slices.Repeat([]int{1}, len(values)), 0.025)
	if err != nil {
		t.Fatal(err)
	}
	a := m.Status().Outcomes.Alarm
	want := AlarmStatus{
		Range: [2]float64{0, 1}, Baseline: total / float64(len(values)), Upper: upper, Tolerance: 0.02, Level: upper + 0.02, Alpha: 0.05,
		Rows: len(values), Sets: len(values), Possible: true, Evidence: 1, Peak: 1, RisesAt: 40,
	}
	if diff := cmp.Diff(want, *a, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); diff != "" {
		t.Error(diff)
	}
	if s := m.Status(); s.Baseline.Rows != 300 || s.Baseline.Sample != 300 {
		t.Errorf("%+v", s.Baseline)
	}

	rows.Groups = make([]string, 600) // pairs of rows belong together
	for n := range rows.Groups {
		rows.Groups[n] = fmt.Sprint(n / 4)
	}
	l.baseline = l.write(t, rows)
	if b := l.open(t, DefaultOptions()).Status().Outcomes.Alarm; b.Sets != 150 || b.Upper == upper || math.Abs(b.Upper-upper) > 0.01 {
		t.Errorf("with groups: %+v", b)
	}
	o := DefaultOptions()
	o.Sample = 100
	if s := l.open(t, o).Status(); s.Baseline.Sample != 100 || s.Baseline.Rows != 300 {
		t.Errorf("a sample of 100: %+v", s.Baseline)
	}
}

// Rows of the baseline with the same features are one set if losses show copies, and sets of their own if not.
func TestBaselineJudgesRepeats(t *testing.T) {
	l := newLab(t)
	rows := world(rand.New(rand.NewPCG(6, 6)), l.actions, 600, 0, 0)
	ties := rows.Subset(rows.Rows(costs.Val))
	for n := range ties.Len() {
		copy(ties.Row(n), []float32{float32(n % 5), 0, 1})
	}
	copies := rows.Subset(slices.Repeat(rows.Rows(costs.Val), 3))
	for n := range copies.IDs {
		copies.IDs[n] = strconv.Itoa(n)
	}
	for name, c := range map[string]struct {
		baseline *costs.Tensor
		sets     int
	}{"ties": {ties, 300}, "copies": {copies, 300}} {
		l.baseline = l.write(t, c.baseline)
		if a := l.open(t, DefaultOptions()).Status().Outcomes.Alarm; a.Sets != c.sets || a.Rows != c.baseline.Len() {
			t.Errorf("%s: %d rows in %d sets, want %d in %d", name, a.Rows, a.Sets, c.baseline.Len(), c.sets)
		}
	}
}
