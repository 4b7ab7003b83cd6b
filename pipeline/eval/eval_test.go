package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/world"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// evalFixture is a synthetic tensor, with the decisions of the optimal policy and of the optimal L2D policy on the rows
// of a split.
func evalFixture(t *testing.T, name string) (*costs.Tensor, []replay.Decisions) {
	t.Helper()
	split, err := costs.ParseSplit(name)
	if err != nil {
		t.Fatal(err)
	}
	tensor := world.SyntheticTensor(400, costs.Train, 1, true)
	val := world.SyntheticTensor(300, costs.Val, 1, true)
	tensor.IDs, tensor.Splits = append(tensor.IDs, val.IDs...), append(tensor.Splits, val.Splits...)
	tensor.Features, tensor.Loss = append(tensor.Features, val.Features...), append(tensor.Loss, val.Loss...)
	perfect := replay.Decisions{Info: &policy.Info{Method: "ours", Lambda: 1, Fixed: -1}}
	l2d := replay.Decisions{Info: &policy.Info{Method: "l2d", Fixed: -1}}
	for _, n := range tensor.Rows(split) {
		best := world.SyntheticBest[world.SyntheticRegion(tensor.Row(n))]
		perfect.Action = append(perfect.Action, best)
		for i := range 4 {
			s := float32(0)
			if i == best {
				s = 1
			}
			perfect.Scores = append(perfect.Scores, s)
		}
		l2d.Action = append(l2d.Action, 2*world.SyntheticRegion(tensor.Row(n)))
		l2d.Scores = append(l2d.Scores, 0, 0, 0, 0)
	}
	return tensor, []replay.Decisions{perfect, l2d}
}

func TestEvalSaysWhatItLeavesOut(t *testing.T) {
	o := DefaultOptions()
	o.KNN, o.Split, o.Lambdas = false, "train", []float64{0.5}
	r, rows := evalRows(t, o)
	if _, ok := rows["ours"]; ok || len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "lambda 1 are left out") {
		t.Errorf("notes %q, rows %v", r.Notes, rows)
	}
}

func evalRows(t *testing.T, o Options) (*report.Report, map[string]report.Row) {
	t.Helper()
	tensor, learned := evalFixture(t, o.Split)
	r, err := Decisions(context.Background(), orttest.Open(t, 1), tensor, learned, o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]report.Row{}
	for _, row := range r.Rows {
		rows[row.Method] = row
	}
	return r, rows
}

// TestEvalKeepsTheOrderOfTheLaw: the oracle is the lowest, the optimal policy beats L2D and every constant, and
// differences are those of the means.
func TestEvalKeepsTheOrderOfTheLaw(t *testing.T) {
	r, rows := evalRows(t, DefaultOptions())
	for _, m := range []string{
		"ours", "l2d", "knn", "best_fixed", "best_fixed_train", "learned_expert_random_advice", "l2d_random_advice",
		"random_expert_learned_advice", "random_expert_no_advice", "random_pair", "oracle", "oracle_no_advice",
	} {
		row, ok := rows[m]
		if !ok {
			t.Fatalf("method %s is not reported", m)
		}
		if row.TrueLossMean < rows["oracle"].TrueLossMean {
			t.Errorf("%s at %.4f is below the oracle %.4f", m, row.TrueLossMean, rows["oracle"].TrueLossMean)
		}
		if m == "best_fixed" {
			continue
		}
		if d := row.DiffBestFixed; d == nil || math.Abs(d.Mean-(row.TrueLossMean-rows["best_fixed"].TrueLossMean)) > 1e-9 || d.Low > d.Mean || d.High < d.Mean {
			t.Errorf("%s: difference to best_fixed is %+v, means differ by %.6f", m, d, row.TrueLossMean-rows["best_fixed"].TrueLossMean)
		}
	}
	if ours := rows["ours"].TrueLossMean; ours >= rows["l2d"].TrueLossMean || ours >= rows["best_fixed"].TrueLossMean {
		t.Errorf("the perfect policy at %.4f does not lead: %+v", ours, rows)
	}
	if d := rows["ours"].DiffL2D; d == nil || d.High >= 0 {
		t.Errorf("difference of ours to l2d is %+v, want an interval below 0", d)
	}
	if *rows["l2d"].AdviceRate != 0 || math.Abs(*rows["ours"].AdviceRate-0.5) > 0.1 {
		t.Errorf("advice rates: l2d %g, ours %g", *rows["l2d"].AdviceRate, *rows["ours"].AdviceRate)
	}
	for _, d := range r.Distribution {
		sum := 0.0
		for _, s := range d.Share {
			sum += s
		}
		if d.Routed > 0 && math.Abs(sum-1) > 1e-9 {
			t.Errorf("shares of %q sum to %g", d.Expert, sum)
		}
	}
}

func TestEvalIsDeterministic(t *testing.T) {
	a, _ := evalRows(t, DefaultOptions())
	b, _ := evalRows(t, DefaultOptions())
	if stage.JSON(a) != stage.JSON(b) {
		t.Fatal("two evaluations differ")
	}
}

func TestEvalOfAnEmptySplitIsAnError(t *testing.T) {
	tensor, learned := evalFixture(t, "val")
	o := DefaultOptions()
	o.Split = "test"
	if _, err := Decisions(context.Background(), orttest.Open(t, 1), tensor, learned, o, stage.Quiet); err == nil {
		t.Fatal("no error")
	}
}

func TestLeftoversOfAnotherTrainingAreRefused(t *testing.T) {
	info := func(digest, settings, recipe string) entry {
		return entry{Decisions: replay.Decisions{File: "a.onnx", Info: &policy.Info{Method: "ours", Recipe: recipe, Lambda: 1, Info: map[string]string{"training_digest": digest, "settings": settings}}}}
	}
	same := []entry{info("d", `{"epochs":5,"seed":0}`, "paper"), info("d", `{"seed":1,"epochs":5}`, "paper")}
	if err := sameTraining(same); err != nil {
		t.Errorf("seeds of one training: %v", err)
	}
	for name, other := range map[string]entry{
		"other data":     info("e", `{"epochs":5,"seed":1}`, "paper"),
		"other settings": info("d", `{"epochs":6,"seed":1}`, "paper"),
	} {
		var bad *costs.DataError
		other.File = "b.onnx"
		if err := sameTraining([]entry{same[0], other}); !errors.As(err, &bad) || bad.File != "b.onnx" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	auto := []entry{info("d", `{"tau":1}`, "auto"), info("d", `{"tau":2}`, "auto")}
	if err := sameTraining(auto); err != nil {
		t.Errorf("two seeds of auto: %v", err)
	}
}

// A bootstrap that would exhaust the memory is refused before it begins.
func TestResamplesAreBounded(t *testing.T) {
	for _, n := range []int{-1, 1, MostResamples + 1, 1_000_000_000_000} {
		o := DefaultOptions()
		o.Resamples = n
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("resamples: %d, not 2 to", n)) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestEvalIntervalsCountUsers: with 30 users of 20 rows, the interval in the report is about as wide as for 30
// independent samples. The report says that rows repeat and that users are on both sides.
func TestEvalIntervalsCountUsers(t *testing.T) {
	o := DefaultOptions()
	o.KNN = false
	report := func(t *testing.T, tensor *costs.Tensor) (*report.Interval, string) {
		t.Helper()
		r, err := Decisions(context.Background(), orttest.Open(t, 1), tensor, nil, o, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Rows, func(r report.Row) bool { return r.Method == "random_pair" })
		return r.Rows[i].DiffBestFixed, strings.Join(r.Notes, "\n")
	}
	tensor := coststest.Users(30, 40, 1)
	whole, notes := report(t, tensor)
	for _, want := range []string{
		"570 of 600 val rows are copies of another row or have the group of one: they are 30 sets",
		"600 of 600 val rows have the group of a training row",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes are %q, without %q", notes, want)
		}
	}
	ungrouped := *tensor
	ungrouped.Groups = nil
	byRow, notes := report(t, &ungrouped)
	if notes != "" {
		t.Errorf("rows that do not repeat are noted: %q", notes)
	}
	if whole.Mean != byRow.Mean || whole.High-whole.Low < 2*(byRow.High-byRow.Low) {
		t.Errorf("by user %+v, by row %+v", *whole, *byRow)
	}
	one := *tensor
	one.Groups = slices.Repeat([]string{"everybody"}, tensor.Len())
	none, notes := report(t, &one)
	if none != nil || !strings.Contains(notes, "There are no intervals: all 600 rows are one draw") {
		t.Errorf("one user has the interval %+v, notes %q", none, notes)
	}
}
