package eval

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// calibrated draws a table of validation rows with known mean losses and one pair that does not exist, and the decisions of
// a policy whose estimates are these means plus wrong(pair) plus noise times a normal number. It takes the pair with the
// smallest estimate.
func calibrated(rows int, seed uint64, wrong func(pair int) float64, noise float64) (*costs.Tensor, replay.Decisions) {
	a := &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b", Fee: 0.3}}, Advice: []costs.Advice{{Name: "none"}, {Name: "help", Fee: 0.2}},
		Unavailable: []costs.Pair{{Expert: 0, Advice: 1}},
	}
	t := &costs.Tensor{Dim: 1, Actions: a}
	l := replay.Decisions{Info: &policy.Info{Method: "auto", Lambda: 1, Fixed: -1}}
	rng := rand.New(rand.NewPCG(seed, 7))
	for n := range rows {
		t.IDs, t.Splits, t.Features = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Val), append(t.Features, rng.Float32())
		best := 0
		for i, available := range a.Mask() {
			mean, loss, fee := rng.Float64(), float32(0), 0.5*rng.Float32()
			if rng.Float64() < mean {
				loss = 1
			}
			expected := float32(mean + float64(fee) + wrong(i) + noise*rng.NormFloat64())
			if !available {
				loss, fee, expected = float32(math.NaN()), 0, 1e30
			}
			t.Loss, t.Fee, l.Loss, l.Scores = append(t.Loss, loss), append(t.Fee, fee), append(l.Loss, expected), append(l.Scores, -expected)
			if expected < l.Loss[4*n+best] {
				best = i
			}
		}
		l.Action = append(l.Action, best)
	}
	return t, l
}

func calibrationOf(t *testing.T, rt *ort.Runtime, tensor *costs.Tensor, l replay.Decisions) report.Calibration {
	t.Helper()
	o := DefaultOptions()
	o.KNN, o.Resamples = false, 300
	r, err := Decisions(t.Context(), rt, tensor, []replay.Decisions{l}, o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Calibration) != 1 || len(r.Calibration[0].Chosen) != 1 || len(r.Calibration[0].Pairs) != 3 {
		t.Fatalf("calibration %+v", r.Calibration)
	}
	return r.Calibration[0]
}

// Estimates that are the true means have almost no error; what is added to them is the error; a pair that does not exist
// is left out, and fees of experts and advice are no part of losses.
func TestCalibrationOfTrueMeans(t *testing.T) {
	if testing.Short() {
		t.Skip("estimates of 80,000 rows; shorter tests run the same code")
	}
	rt := orttest.Open(t, 1)
	tensor, l := calibrated(20000, 1, func(int) float64 { return 0 }, 0)
	c := calibrationOf(t, rt, tensor, l)
	if c.Error > 0.01 || c.Rows != 20000 || c.Estimates != 60000 || len(c.Bins) != policy.CalibrationBins || c.Policy != "auto at lambda 1" {
		t.Errorf("error %g of %d estimates on %d rows, %d bins, policy %q", c.Error, c.Estimates, c.Rows, len(c.Bins), c.Policy)
	}
	if d := c.Chosen[0].Diff; math.Abs(d.Mean) > 0.01 || math.Abs(c.Chosen[0].Estimate-c.Chosen[0].Loss) > 0.01 {
		t.Errorf("chosen %+v, difference %+v", c.Chosen[0], d)
	}
	tensor, l = calibrated(20000, 1, func(int) float64 { return 0.1 }, 0)
	c = calibrationOf(t, rt, tensor, l)
	if math.Abs(c.Error-0.1) > 0.01 || math.Abs(c.Chosen[0].Diff.Mean+0.1) > 0.01 || c.Chosen[0].Diff.High >= 0 {
		t.Errorf("error %g, chosen %+v of estimates that are too high by 0.1", c.Error, c.Chosen[0].Diff)
	}
	tensor, l = calibrated(20000, 1, func(i int) float64 { return 0.2 * float64(i%2) }, 0)
	c = calibrationOf(t, rt, tensor, l)
	for k, want := range []float64{0, 0, 0.2} {
		p := c.Pairs[k]
		if math.Abs(p.Error-want) > 0.02 || math.Abs(p.Diff.Mean+want) > 0.02 || math.Abs(p.Loss-p.Estimate-p.Diff.Mean) > 1e-9 {
			t.Errorf("%s: %+v, difference %+v, want -%g", p.Pair, p, p.Diff, want)
		}
	}
}

// Estimates with noise are right on average, but not where a pair is chosen for its low estimate.
func TestChosenPairsAreOptimistic(t *testing.T) {
	tensor, l := calibrated(5000, 3, func(int) float64 { return 0 }, 0.3)
	c := calibrationOf(t, orttest.Open(t, 1), tensor, l)
	if d := c.Chosen[0].Diff; d.Low <= 0.05 || math.Abs(d.Mean-(c.Chosen[0].Loss-c.Chosen[0].Estimate)) > 1e-9 {
		t.Errorf("chosen %+v, difference %+v", c.Chosen[0], d)
	}
	for _, p := range c.Pairs {
		if math.Abs(p.Diff.Mean) > 0.03 {
			t.Errorf("%s: difference %+v", p.Pair, p.Diff)
		}
	}
}

// In 95% of the tables the interval has the difference 0 of a policy that knows the means, for chosen pairs and for each.
func TestCalibrationIntervalsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	rt := orttest.Open(t, 1)
	const tables = 200
	chosen, pair := 0, 0
	for seed := range uint64(tables) {
		tensor, l := calibrated(60, seed, func(int) float64 { return 0 }, 0)
		c := calibrationOf(t, rt, tensor, l)
		if d := c.Chosen[0].Diff; d.Low <= 0 && 0 <= d.High {
			chosen++
		}
		if d := c.Pairs[1].Diff; d.Low <= 0 && 0 <= d.High {
			pair++
		}
	}
	for name, n := range map[string]int{"chosen": chosen, "pair": pair} {
		if share := float64(n) / tables; share < 0.90 || share > 0.99 {
			t.Errorf("%s: %.3f of the intervals have the true difference", name, share)
		}
	}
}

// Rows of one group are one draw: there is no interval for a single group, and a wider one for few.
func TestCalibrationIntervalsCountGroups(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor, l := calibrated(200, 5, func(int) float64 { return 0 }, 0)
	alone := calibrationOf(t, rt, tensor, l).Pairs[0].Diff
	for _, groups := range []int{1, 5} {
		tensor, l := calibrated(200, 5, func(int) float64 { return 0 }, 0)
		for n := range 200 {
			group := n * groups / 200
			first := group * 200 / groups
			tensor.Groups = append(tensor.Groups, fmt.Sprint(group))
			for i := range 4 { // all rows of a group are the same
				tensor.Loss[4*n+i], tensor.Fee[4*n+i], l.Loss[4*n+i] = tensor.Loss[4*first+i], tensor.Fee[4*first+i], l.Loss[4*first+i]
			}
			l.Action[n] = l.Action[first]
		}
		c := calibrationOf(t, rt, tensor, l)
		d := c.Pairs[0].Diff
		if groups == 1 && (d != nil || c.Chosen[0].Diff != nil) {
			t.Errorf("intervals %+v and %+v of one group", d, c.Chosen[0].Diff)
		}
		if groups > 1 && d.High-d.Low < 2*(alone.High-alone.Low) {
			t.Errorf("%d groups: %+v, %+v without", groups, d, alone)
		}
	}
}

// Of policy files: an any-price policy has its calibration once and its chosen pairs at every lambda; the file with fixed
// prices that is cut from it expects the same; other policies have none, nor have policies of lambdas that are left out.
func TestCalibrationOfFiles(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	file := f.anyPrice("any/auto-any-price.onnx", keepPolicy)
	fixed := f.frozen(file, "half.onnx", 0.5)
	left := f.frozen(file, "seven.onnx", 7)
	r := f.evalAt([]float64{0.5, 2}, file, fixed, left, f.policy("ours.onnx", func(p *policy.Policy) { p.Lambda = 2 }))
	if len(r.Calibration) != 2 {
		t.Fatalf("%d policies have a calibration", len(r.Calibration))
	}
	cut, anyPrice := r.Calibration[0], r.Calibration[1]
	if cut.Policy != "half.onnx" || anyPrice.Policy != "auto-any-price.onnx" || anyPrice.Method != "any_price" {
		t.Errorf("policies %q and %q", cut.Policy, anyPrice.Policy)
	}
	if stage.JSON(cut.Pairs) != stage.JSON(anyPrice.Pairs) || stage.JSON(cut.Bins) != stage.JSON(anyPrice.Bins) || cut.Error != anyPrice.Error {
		t.Errorf("fixed prices\n%+v\nany price\n%+v", cut, anyPrice)
	}
	if len(cut.Chosen) != 1 || len(anyPrice.Chosen) != 2 || stage.JSON(cut.Chosen[0]) != stage.JSON(anyPrice.Chosen[0]) || anyPrice.Chosen[1].Lambda != 2 {
		t.Errorf("chosen %+v and %+v", cut.Chosen, anyPrice.Chosen)
	}
	for _, p := range r.Frontier { // the loss of what was chosen is that of the frontier
		for _, c := range anyPrice.Chosen {
			if p.Method == "any_price" && p.Lambda == c.Lambda && math.Abs(p.Loss-c.Loss) > 1e-9 {
				t.Errorf("lambda %g: loss %g, on the frontier %g", c.Lambda, c.Loss, p.Loss)
			}
		}
	}
	checkCalibrationFiles(t, r)
	careful := f.frozen(f.anyPrice("careful.onnx", func(p *policy.Policy) { p.Estimate.Margin = 0.1 }), "careful/half.onnx", 0.5)
	two := f.evalAt([]float64{0.5}, fixed, careful)
	if len(two.Calibration) != 2 || two.Calibration[0].Policy != fixed || two.Calibration[1].Policy != careful {
		t.Errorf("policies %+v", two.Calibration)
	}
	none := f.evalAt(nil, f.policy("ours.onnx", keepPolicy))
	var text bytes.Buffer
	if err := none.WriteText(&text); err != nil || none.Calibration != nil || strings.Contains(text.String(), "Calibration") {
		t.Errorf("%v: a policy without estimates:\n%s", err, text.String())
	}
	dir := t.TempDir()
	if err := report.Write(t.Context(), storage.File(dir), none); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "calibration.*")); found != nil {
		t.Errorf("files %q without estimates", found)
	}
}

// checkCalibrationFiles checks every form of a report with calibration.
func checkCalibrationFiles(t *testing.T, r *report.Report) {
	t.Helper()
	var text, markdown, js, table bytes.Buffer
	for name, err := range map[string]error{"text": r.WriteText(&text), "markdown": r.WriteMarkdown(&markdown), "json": r.WriteJSON(&js), "csv": r.WriteCalibrationCSV(&table)} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	for _, title := range []string{"Calibration", "Calibration by pair", "Reliability"} {
		if !strings.Contains(text.String(), "\n"+title+"\n") || !strings.Contains(markdown.String(), "\n## "+title+"\n") {
			t.Errorf("no table %q", title)
		}
	}
	_, tables, _ := strings.Cut(text.String(), "\nCalibration\n")
	if n := strings.Count(tables, "half.onnx"); n != 7 || strings.Count(tables, "auto-any-price.onnx") != 2 { // once, 4 pairs, 2 lines of bins
		t.Errorf("half.onnx is there %d times: estimates that two policies share are listed once\n%s", n, tables)
	}
	lines := 1
	for _, c := range r.Calibration {
		lines += 1 + len(c.Chosen) + len(c.Pairs) + len(c.Bins)
	}
	if got := strings.Count(table.String(), "\n"); got != lines {
		t.Errorf("%d lines of CSV, want %d", got, lines)
	}
	if back, err := report.Read(&js); err != nil || stage.JSON(back.Calibration) != stage.JSON(r.Calibration) {
		t.Errorf("read back: %v", err)
	}
	dir := t.TempDir()
	if err := report.Write(t.Context(), storage.File(dir), r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"calibration.csv", "calibration.svg"} {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) != 1 {
			t.Errorf("no %s", name)
		}
	}
}

// Expected losses that are no numbers, or that are not of the reported rows, are errors.
func TestCalibrationOfBadEstimates(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor, l := calibrated(20, 1, func(int) float64 { return 0 }, 0)
	good := l.Loss
	for want, bad := range map[string][]float32{
		"19 expected losses":                      good[:19],
		`"7": the expected loss of a/none is NaN`: append(append(append([]float32(nil), good[:28]...), float32(math.NaN())), good[29:]...),
	} {
		l.Loss = bad
		o := DefaultOptions()
		o.KNN = false
		if _, err := Decisions(t.Context(), rt, tensor, []replay.Decisions{l}, o, stage.Quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
