package builder

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// pairsAUC counts the pairs of a positive and a negative row one by one.
func pairsAUC(score []float32, truth []int16) float64 {
	won, pairs := 0.0, 0.0
	for a, y := range truth {
		for b, z := range truth {
			if y == 1 && z == 0 {
				pairs++
				switch {
				case score[a] > score[b]:
					won++
				case score[a] == score[b]:
					won += 0.5
				}
			}
		}
	}
	return won / pairs
}

func TestAUCWithTies(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		n := 2 + r.IntN(60)
		score, truth := make([]float32, n), make([]int16, n)
		for i := range n {
			score[i], truth[i] = float32(r.IntN(8))/8, int16(r.IntN(2))
		}
		truth[0], truth[1] = 0, 1
		if got, want := auc(score, truth), pairsAUC(score, truth); math.Abs(*got-want) > 1e-12 {
			t.Fatalf("scores %v of %v: AUC %v, pairs say %v", score, truth, *got, want)
		}
	}
	if got := auc([]float32{0.1, 0.2}, []int16{1, 1}); got != nil {
		t.Errorf("AUC of one class is %v", *got)
	}
}

// TestFiguresByHand follows five rows with a pencil.
func TestFiguresByHand(t *testing.T) {
	j := &judgement{
		truth:       []int16{1, 0, 1, 0, 0},
		answer:      []int16{1, 1, 0, 0, 0},
		probability: []float32{0.75, 0.5, 0.25, 0.25, 1.0 / 64},
		loss:        []float32{0, 1, 3, 0, 0},
	}
	f := j.measure(2)
	// The bins of 0.5 and 0.75 hold a row each, that of 0.25 one of either
	// label, and the first one a negative.
	gap := (0.25 + 0.5 + math.Abs(0.5-1) + 1.0/64) / 5
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"loss":              {&f.Loss, 0.8},
		"accuracy":          {f.Accuracy, 3.0 / 5},
		"balanced accuracy": {f.BalancedAccuracy, (1.0/2 + 2.0/3) / 2},
		"recall":            {f.Recall, 1.0 / 2},
		"precision":         {f.Precision, 1.0 / 2},
		"AUC":               {f.AUC, (3 + 1.5) / 6},
		"Brier":             {f.Brier, (0.0625 + 0.25 + 0.5625 + 0.0625 + 1.0/4096) / 5},
		"calibration error": {f.CalibrationError, gap},
		"mean probability":  {f.MeanProbability, (1.75 + 1.0/64) / 5},
	} {
		if c.got == nil || math.Abs(*c.got-c.want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
	j.answer = []int16{0, 0, 0, 0, 0}
	if f := j.measure(2); f.Precision != nil || *f.Recall != 0 || *f.BalancedAccuracy != 0.5 {
		t.Errorf("never positive: %+v", f)
	}
	j.answer[1] = -1
	if f := j.measure(2); *f.Accuracy != 2.0/5 || *f.BalancedAccuracy != (0+2.0/3)/2 {
		t.Errorf("an answer that is no label is wrong: %+v", f)
	}
	j.answer = []int16{-1, -1, -1, -1, -1}
	if f := j.measure(2); f.Accuracy != nil || f.AUC != nil || f.Loss != 0.8 {
		t.Errorf("losses without an answer: %+v", f)
	}
}

// TestDiagnoseAgreesWithTheTensor holds the report against the tensor's
// validation rows, made after it and from the same files.
func TestDiagnoseAgreesWithTheTensor(t *testing.T) {
	w := newTabularWorld(t, 600).withAllExperts()
	for _, e := range w.cfg.Experts[:2] {
		e.Settings["epochs"], e.Settings["learning_rate"] = 20, 0.02
	}
	w.cfg.Experts[0].Unavailable = []string{"contact"}
	w.cfg.TaskLoss = part.Part{Kind: "weighted"}
	d, err := Diagnose(t.Context(), w.cfg, w.options(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.out()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a diagnosis left a tensor: %v", err)
	}
	progress := &told{}
	o := w.options(t)
	o.Progress = progress
	if _, err := Run(t.Context(), w.cfg, o); err != nil || progress.has("steps of linear") {
		t.Fatalf("%v; the build said %q", err, progress.what)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := tensor.Actions
	if len(d.Experts) != a.Len()-1 || d.Rows != 150 || d.Positive != "fraud" || d.CrossFit != "3 folds" {
		t.Errorf("%d of %d actions, %+v", len(d.Experts), a.Len(), d)
	}
	for _, e := range d.Experts {
		action := a.Index(a.ExpertIndex(e.Expert), a.AdviceIndex(e.Advice))
		loss, right, found, caught := 0.0, 0, 0, 0
		for n, s := range tensor.Splits {
			if s != costs.Val {
				continue
			}
			loss += float64(tensor.Losses(n)[action])
			answer := tensor.Predictions[n*a.Len()+action]
			if answer == tensor.Labels[n] {
				right++
			}
			if tensor.Labels[n] == "fraud" {
				found++
				if answer == "fraud" {
					caught++
				}
			}
		}
		if math.Abs(e.Loss-loss/150) > 1e-9 || *e.Accuracy != float64(right)/150 || *e.Recall != float64(caught)/float64(found) || *e.Threshold != 0.5 {
			t.Errorf("%s with %s: %+v; the tensor says loss %v, %d right, %d of %d caught", e.Expert, e.Advice, e, loss/150, right, caught, found)
		}
		if e.AUC == nil || e.CalibrationError == nil || e.Advice == "identity" && *e.AUC < 0.65 {
			t.Errorf("%s with %s: AUC %v, calibration error %v", e.Expert, e.Advice, *e.AUC, *e.CalibrationError)
		}
	}
	if len(d.Constants) != 2 || *d.Constants[0].Accuracy != 1-d.Rate || *d.Constants[0].BalancedAccuracy != 0.5 || d.Constants[1].Precision == nil {
		t.Errorf("constants %+v", d.Constants)
	}
	checkTensorDiagnosis(t, tensor, d)
}

// checkTensorDiagnosis compares the report of the tensor with the answers of the experts; an answer without a label is wrong.
func checkTensorDiagnosis(t *testing.T, tensor *costs.Tensor, asked *ExpertReport) {
	t.Helper()
	read, err := DiagnoseTensor(tensor, tensor.Rows(costs.Val), asked.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range read.Experts {
		want := asked.Experts[i]
		want.Threshold, want.AUC, want.Brier, want.CalibrationError, want.MeanProbability = nil, nil, nil, nil, nil
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%s with %s (-asked +read):\n%s", e.Expert, e.Advice, diff)
		}
	}
	row := tensor.Rows(costs.Val)[0]
	tensor.Predictions[row*tensor.Actions.Len()] = ""
	tensor.Loss[row*tensor.Actions.Len()] = 1
	silent, err := DiagnoseTensor(tensor, tensor.Rows(costs.Val), asked.Labels)
	if err != nil || *silent.Experts[0].Accuracy > *read.Experts[0].Accuracy {
		t.Errorf("an answer without a label: %v, accuracy %v before %v", err, *silent.Experts[0].Accuracy, *read.Experts[0].Accuracy)
	}
	if _, err := DiagnoseTensor(tensor, tensor.Rows(costs.Val), []string{"other"}); err == nil {
		t.Error("labels that are none of the listed ones are taken")
	}
}

// TestDiagnoseExpertsWithoutProbabilities asks experts that only answer.
func TestDiagnoseExpertsWithoutProbabilities(t *testing.T) {
	w := newWorld(t, 24)
	d, err := Diagnose(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Experts) != 3 || d.Positive != "" || d.CrossFit != "" || d.Experts[0].AUC != nil || d.Experts[0].Accuracy == nil || d.Experts[0].Threshold != nil {
		t.Errorf("%+v", d)
	}
	if *d.Experts[1].Accuracy != 1 || len(d.Constants) != 3 {
		t.Errorf("both/search is always right: %+v, %+v", d.Experts[1], d.Constants)
	}
}

// backwards is an expert that is always right and sure, and whose labels are in
// its own order.
type backwards struct{ labels []string }

func (e backwards) Labels() []string { return e.labels }
func (backwards) Close() error       { return nil }

func (e backwards) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		for n := range level {
			p := part.Prediction{Label: batch[n].Label, Probabilities: make([]float32, len(e.labels))}
			p.Probabilities[slices.Index(e.labels, p.Label)] = 1
			out[k] = append(out[k], p)
		}
	}
	return out, nil
}

// TestDiagnoseKnowsTheOrderOfLabels: probabilities are in the order of the expert,
// figures in that of the configuration.
func TestDiagnoseKnowsTheOrderOfLabels(t *testing.T) {
	w := newClaimWorld(t, 24)
	w.addExpert("backwards", func(_ context.Context, s *part.Setup, _ map[string]any) (part.Expert, error) {
		return backwards{[]string{s.Labels[1], s.Labels[0]}}, nil
	})
	w.cfg.Experts = []part.ExpertConfig{{Name: "sure", Kind: "backwards"}}
	d, err := Diagnose(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Experts {
		if *e.AUC != 1 || *e.Brier != 0 || *e.MeanProbability != d.Rate {
			t.Errorf("%s with %s: AUC %v, Brier %v, mean probability %v", e.Expert, e.Advice, *e.AUC, *e.Brier, *e.MeanProbability)
		}
	}
}
