package auto

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

var nan32 = float32(math.NaN())

const day = int64(24 * time.Hour / time.Microsecond)

// quickAuto has no networks.
func quickAuto() Settings {
	s := DefaultSettings()
	s.Networks = nil
	return s
}

func learned(t *testing.T, train *costs.Tensor, s Settings) (*policy.Policy, Report) {
	t.Helper()
	policies, reports, err := Train(t.Context(), train, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return policies[0], reports[0]
}

func TestHalfLifeText(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute, "1.5d": 36 * time.Hour, "45s": 45 * time.Second} {
		var h, again HalfLife
		if err := h.Set(text); err != nil || time.Duration(h) != want {
			t.Errorf("%s is %v, %v", text, time.Duration(h), err)
		}
		if err := again.Set(h.String()); err != nil || again != h {
			t.Errorf("%s is written as %q", text, h)
		}
	}
	for _, text := range []string{"", "30", "d", "-1d", "0d", "NaNd", "1e9d", "30 days", "0.5s"} {
		if err := new(HalfLife).Set(text); err == nil {
			t.Errorf("%q is a half-life", text)
		}
	}
	b, err := json.Marshal(Settings{HalfLife: HalfLife(48 * time.Hour)})
	if err != nil || !strings.Contains(string(b), `"half_life":"2d"`) {
		t.Errorf("%s, %v", b, err)
	}
	if b, err = json.Marshal(Settings{}); err != nil || strings.Contains(string(b), "half_life") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestWeightsHalveWithAge(t *testing.T) {
	tensor := noise(5, 1)
	tensor.Times = []int64{10 * day, 0, 5 * day, -1e6 * day, 10 * day}
	h := HalfLife(5 * 24 * time.Hour)
	got := h.Weights(tensor, []int{0, 1, 2, 3, 4})
	for i, want := range []float64{1, 0.25, 0.5, leastRowWeight, 1} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("row %d counts %g, want %g", i, got[i], want)
		}
	}
	if h.Weights(tensor, []int{0, 4}) != nil || HalfLife(0).Weights(tensor, []int{0, 1}) != nil {
		t.Error("rows of equal weight have weights")
	}
}

// Rows of one age give the same policy with a half-life as without: the same bytes but for the setting.
func TestEqualAgesChangeNothing(t *testing.T) {
	train := structured.tensor(600, costs.Train, 3, true)
	train.Times = make([]int64, train.Len())
	s := quickAuto()
	plain, _ := learned(t, train, s)
	s.HalfLife = HalfLife(time.Hour)
	aged, r := learned(t, train, s)
	if !strings.Contains(aged.Info[policy.SettingsKey], `"half_life":"1h"`) || r.HalfLife != s.HalfLife {
		t.Errorf("the file says %s", aged.Info[policy.SettingsKey])
	}
	aged.Info[policy.SettingsKey] = plain.Info[policy.SettingsKey]
	if string(exported(t, plain)) != string(exported(t, aged)) {
		t.Error("the policies differ")
	}
}

// Where old rows say the opposite of new ones, a half-life follows the new ones; without it the old ones, which are more,
// prevail.
func TestHalfLifeFollowsTheNews(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures of many searches")
	}
	now := structured
	past := structured
	past.mean = func(x []float32) []float64 {
		turned := append([]float32{-x[0]}, x[1:]...)
		return structured.mean(turned)
	}
	train := past.tensor(1500, costs.Train, 5, true)
	news := now.tensor(1000, costs.Train, 6, true)
	for i := range news.IDs {
		news.IDs[i] += " new"
	}
	train.Times = make([]int64, train.Len())
	train.IDs, train.Splits = append(train.IDs, news.IDs...), append(train.Splits, news.Splits...)
	train.Features, train.Loss = append(train.Features, news.Features...), append(train.Loss, news.Loss...)
	for range news.IDs {
		train.Times = append(train.Times, 20*day)
	}
	s := quickAuto()
	old, _ := learned(t, train, s)
	s.HalfLife = HalfLife(5 * 24 * time.Hour)
	aged, r := learned(t, train, s)
	before, bayes := now.risk(t, old)
	after, _ := now.risk(t, aged)
	t.Logf("risk %.4f without, %.4f with a half-life, Bayes %.4f; guard %+v", before, after, bayes, r.Guard)
	if r.Guard.Fallback || after > bayes+0.07 || before < after+0.02 {
		t.Errorf("risk %.4f without, %.4f with a half-life, Bayes %.4f; guard %+v", before, after, bayes, r.Guard)
	}
}

// hidden makes outcomes unknown at random, except on a share of the rows.
func hidden(train *costs.Tensor, whole, share float64) {
	rng := rand.New(rand.NewPCG(9, 9))
	a := train.Actions.Len()
	for n := range train.Len() {
		if rng.Float64() < whole {
			continue
		}
		for i := range a {
			if rng.Float64() < share {
				train.Loss[n*a+i] = float32(math.NaN())
			}
		}
	}
}

// With half of the outcomes unknown on most rows, the policy is nearly as good as with all, and better than one that
// learns from the complete rows alone.
func TestAutoLearnsFromUnknownOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks")
	}
	s := smallAuto()
	s.Neighbours, s.Steps = []int{50, 100}, 100
	all := structured.tensor(3000, costs.Train, 11, true)
	partial := structured.tensor(3000, costs.Train, 11, true)
	hidden(partial, 0.15, 0.5)
	complete := partial.Subset(partial.CompleteRows(partial.Rows(costs.Train)))
	risks := make([]float64, 3)
	bayes := 0.0
	for i, train := range []*costs.Tensor{all, partial, complete} {
		p, r := learned(t, train, s)
		risks[i], bayes = structured.risk(t, p)
		t.Logf("%d of %d rows are complete: risk %.4f, Bayes %.4f, guard %+v", r.Complete, r.Rows, risks[i], bayes, r.Guard)
		if r.Guard.Fallback && train != complete {
			t.Errorf("tensor %d: the guard falls back", i)
		}
		if train == partial && (r.Complete != complete.Len() || r.Unknown != partial.UnknownCells() || r.Guard.Rows != r.Complete ||
			!strings.Contains(p.Info[policy.SettingsKey], `"complete":`)) {
			t.Errorf("report %+v, %s", r, p.Info[policy.SettingsKey])
		}
	}
	if risks[1] > risks[0]+0.03 || risks[1] >= risks[2] {
		t.Errorf("risks %.4f, Bayes %.4f", risks, bayes)
	}
}

func TestTrainRefusesWhatCannotBeJudged(t *testing.T) {
	nan := float32(math.NaN())
	for want, spoil := range map[string]func(*costs.Tensor, *Settings){
		"column time: is missing: with a half-life": func(_ *costs.Tensor, s *Settings) { s.HalfLife = HalfLife(time.Hour) },
		"the outcome of b/none is unknown on all 100 training rows; declare the pair unavailable": func(t *costs.Tensor, _ *Settings) {
			for n := range t.Len() {
				t.Loss[n*9+3] = nan
			}
		},
		"are known on 9 training rows, 5 folds need at least 10": func(t *costs.Tensor, _ *Settings) {
			for n := 9; n < t.Len(); n++ {
				t.Loss[n*9+n%9] = nan
			}
		},
	} {
		train, s := structured.tensor(100, costs.Train, 1, true), quickAuto()
		spoil(train, &s)
		var data *costs.DataError
		if _, _, err := Train(t.Context(), train, []float64{1}, s, models.Options{}); !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
