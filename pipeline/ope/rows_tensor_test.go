package ope

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/pipeline/decisionlog"
)

// foreign is a log from elsewhere: of each row only the probability of the executed pair is known. Pair a is executed with 0.6, b
// and c with 0.2; change may alter a row.
func foreign(t *testing.T, rows int, change func(x *costs.Tensor, n, pair int)) *Options {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	x := &costs.Tensor{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Advice: []costs.Advice{{Name: "none"}}}, Dim: 1,
	}
	nan := math.NaN()
	for n := range rows {
		pair := max(0, rng.IntN(5)-2)
		x.IDs, x.Splits, x.Features = append(x.IDs, fmt.Sprint(n)), append(x.Splits, costs.Test), append(x.Features, rng.Float32())
		x.Loss, x.Propensity = append(x.Loss, float32(nan), float32(nan), float32(nan)), append(x.Propensity, nan, nan, nan)
		x.Loss[3*n+pair] = []float32{0.5, 0.3, 0.6}[pair] + 0.1*rng.Float32()
		x.Propensity[3*n+pair] = []float64{0.6, 0.2, 0.2}[pair]
		if change != nil {
			change(x, n, pair)
		}
	}
	o := DefaultOptions()
	o.Costs, o.Policy, o.Resamples = storage.File(filepath.Join(t.TempDir(), "log.parquet")), "pair:b/none", 500
	if err := costs.Write(t.Context(), o.Costs, x); err != nil {
		t.Fatal(err)
	}
	return &o
}

// Where only the probabilities of executed pairs are known, a policy is compared with the logged one as well.
func TestForeign(t *testing.T) {
	r, err := Run(t.Context(), *foreign(t, 1500, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Saves || math.Abs(r.Differ-0.8) > 0.03 || r.Decisive < 200 || math.Abs(*r.Support.Covered-1) > 0.2 || r.Support.Misfit {
		t.Errorf("%q, %g differ, %g decisive, %+v", r.Sentence, r.Differ, r.Decisive, r.Support)
	}
}

// Probabilities that are not those of the executed pair are found.
func TestForeignMisfit(t *testing.T) {
	for name, p := range map[string]float64{"of the best pair": 0.6, "1 everywhere": 1, "far too small": 0.01} {
		r, err := Run(t.Context(), *foreign(t, 1500, func(x *costs.Tensor, n, pair int) { x.Propensity[3*n+pair] = p }), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != Unknown || !r.Support.Misfit || !strings.Contains(r.Sentence, "by their probabilities the executed choices stand for") {
			t.Errorf("%s: %q, %+v", name, r.Sentence, r.Support)
		}
	}
}

// A probability so small that its weight is no number is an error that names the row.
func TestForeignTooSmall(t *testing.T) {
	for _, p := range []float64{1e-310, 1e-200} {
		_, err := Run(t.Context(), *foreign(t, 300, func(x *costs.Tensor, n, pair int) {
			if pair == 1 {
				x.Propensity[3*n+pair] = p
			}
		}), nil)
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), "decision \"") {
			t.Errorf("%g: %v", p, err)
		}
	}
}

// A few users tell nothing, however many rows they have.
func TestFewUsers(t *testing.T) {
	r, err := Run(t.Context(), *foreign(t, 1500, func(x *costs.Tensor, n, _ int) { x.Groups = append(x.Groups, fmt.Sprint(n%3)) }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Unknown || !strings.Contains(r.Sentence, "fewer than 20 users") {
		t.Errorf("%q", r.Sentence)
	}
}

// Of all estimators, one that needs executed choices is left out where there are none.
func TestNoMatch(t *testing.T) {
	o := foreign(t, 300, func(x *costs.Tensor, n, pair int) {
		if pair == 1 { // it was c
			x.Loss[3*n+2], x.Propensity[3*n+2] = x.Loss[3*n+1], 0.4
			x.Loss[3*n+1], x.Propensity[3*n+1] = float32(math.NaN()), math.NaN()
		}
	})
	o.Estimator = "snips"
	var data *costs.DataError
	if _, err := Run(t.Context(), *o, nil); !errors.As(err, &data) {
		t.Error(err)
	}
	o.Estimator = All
	r, err := Run(t.Context(), *o, nil)
	if err != nil {
		t.Fatal(err)
	}
	snips := slices.ContainsFunc(r.Estimates, func(e Estimate) bool { return e.Name == "snips" })
	if snips || r.Verdict != Unknown || !strings.Contains(strings.Join(r.Cautions, "\n"), "No estimate by snips") {
		t.Errorf("%q, %+v", r.Sentence, r.Cautions)
	}
}

// Losses beyond the range that was stated make no exact interval.
func TestBeyondRange(t *testing.T) {
	o := foreign(t, 300, nil)
	o.Against, o.Range = "pair:a/none", &[2]float64{0, 0.4}
	r, err := Run(t.Context(), *o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Differ != 1 || r.Anytime.Gain != nil || !strings.Contains(r.Anytime.Why, "beyond --range") {
		t.Errorf("%+v", r.Anytime)
	}
	o.Range = nil
	if r, err = Run(t.Context(), *o, nil); err != nil || r.Anytime.Gain == nil {
		t.Errorf("%+v, %v", r.Anytime, err)
	}
}

// What is rounded to 0 has no sign, and small costs have digits.
func TestIntervalText(t *testing.T) {
	for want, v := range map[string][3]float64{
		"0.0000 [-0.1000, 0.2000]":       {-1e-6, -0.1, 0.2},
		"0.000000 [-0.004310, 0.004410]": {-6e-19, -0.00431, 0.00441},
		"3e-07 [2e-07, 4e-07]":           {3e-7, 2e-7, 4e-7},
		"2e+30 [1e+30, 3e+30]":           {2e30, 1e30, 3e30},
		"0.0000 [0.0000, 0.0000]":        {},
	} {
		x := Estimate{}
		x.Gain.Mean, x.Gain.Low, x.Gain.High = v[0], v[1], v[2]
		if got := amount(x, 1); got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
}

// Losses that no interval can be made of are an error, not an interval without numbers.
func TestHugeLoss(t *testing.T) {
	_, err := Run(t.Context(), *foreign(t, 300, func(x *costs.Tensor, n, pair int) {
		if n == 7 {
			x.Loss[3*n+pair] = 1e38
		}
	}), nil)
	var data *costs.DataError
	if !errors.As(err, &data) || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

// The direct method says that its intervals lack the error of its models, and a report against a policy names whose choices it counts.
func TestDirectMethod(t *testing.T) {
	o := foreign(t, 1500, nil)
	o.Policy, o.Against, o.Estimator = Logged, o.Policy, "dm"
	r, err := Run(t.Context(), *o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(r.Cautions, "\n"), "dm believes the models") || !strings.HasSuffix(r.Sentence, "of the choices of b/none were never tried") {
		t.Errorf("%q, %+v", r.Sentence, r.Cautions)
	}
}

// One draw has no interval: one row, or the rows of one user.
func TestOneDraw(t *testing.T) {
	for rows, change := range map[int]func(x *costs.Tensor, n, pair int){1: nil, 200: func(x *costs.Tensor, _, _ int) { x.Groups = append(x.Groups, "one") }} {
		_, err := Run(t.Context(), *foreign(t, rows, change), nil)
		var data *costs.DataError
		if !errors.As(err, &data) || !errors.Is(err, models.ErrOneDraw) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// The sentence and the table name the same choices that were never tried, also where their probability is above 0.
func TestNeverExecuted(t *testing.T) {
	w := newWorld(7)
	w.change = func(_ int, r *decisionlog.Record, _ *decisionlog.Outcome) {
		if r.Action == 3 {
			r.Action = 0
		}
		r.Propensity = []float64{0.8499, 0.075, 0.075, 0.0001}
	}
	r := w.judged(t, 300, func(o *Options) { o.Policy = "pair:large/search" })
	if r.Support.Untried < 0.999 || len(r.Support.Pairs) != 1 || r.Support.Pairs[0].Rows != 300 {
		t.Errorf("%q, %+v", r.Sentence, r.Support)
	}
}

// Guessed probabilities come true where nothing but the features decided, and the sentence says that they are guessed.
func TestGuessedPropensities(t *testing.T) {
	o := foreign(t, 2000, func(x *costs.Tensor, n, pair int) { x.Propensity[3*n+pair] = math.NaN() })
	o.Propensity = true
	r, err := Run(t.Context(), *o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Logged.Fits || r.Verdict != Saves || r.Anytime.Gain != nil || !strings.HasSuffix(r.Sentence, "THE PROBABILITIES ARE GUESSED") {
		t.Errorf("%q, worst %g, %+v", r.Sentence, r.Logged.Worst, r.Logged.Estimated)
	}
}
