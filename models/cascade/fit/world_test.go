package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/onnx/ort/orttest"
)

// world has experts whose confidence is the probability that they are right. How confident they are depends on how hard a row is,
// which is a feature, so the best cascade is known. Their labels tell nothing.
type world struct {
	levels []float64 // confidences
	fees   []float64 // by expert
	skill  []float64 // by expert: how well it does on hard rows
	stages int
}

func twoStages() world {
	return world{levels: []float64{0.55, 0.8, 0.99}, fees: []float64{0.01, 0.12}, skill: []float64{0, 1.5}, stages: 2}
}

func threeStages() world {
	return world{levels: []float64{0.5, 0.75, 0.98}, fees: []float64{0.01, 0.05, 0.15}, skill: []float64{-0.3, 0.5, 1.8}, stages: 3}
}

// chance is how probable each level is for an expert.
func (w world) chance(expert int, hard float64) []float64 {
	out, sum := make([]float64, len(w.levels)), 0.0
	for l := range out {
		out[l] = math.Exp((w.skill[expert] - hard) * float64(l))
		sum += out[l]
	}
	for l := range out {
		out[l] /= sum
	}
	return out
}

// value is the cost of the best cascade from a state on, and its action. seen has a level per expert, -1 where it was
// not executed.
func (w world) value(hard float64, seen []int) (cost float64, action int) {
	cost, done := math.Inf(1), 0
	for i, l := range seen {
		if l >= 0 {
			done++
			if loss := 1 - w.levels[l]; loss < cost {
				cost, action = loss, i
			}
		}
	}
	if done == w.stages {
		return cost, action
	}
	for i, l := range seen {
		if l >= 0 {
			continue
		}
		next := w.fees[i]
		for l, p := range w.chance(i, hard) {
			seen[i] = l
			v, _ := w.value(hard, seen)
			next += p * v
		}
		if seen[i] = -1; next < cost {
			cost, action = next, i
		}
	}
	return cost, action
}

// sample is a tensor of the world, and the level of every answer.
func (w world) sample(rng *rand.Rand, rows int) (*costs.Tensor, []int) {
	n := len(w.fees)
	t := &costs.Tensor{Dim: 2, Actions: &costs.Actions{Advice: []costs.Advice{{Name: "none"}}}}
	for j, fee := range w.fees {
		t.Actions.Experts = append(t.Actions.Experts, costs.Expert{Name: fmt.Sprintf("e%d", j), Fee: fee})
	}
	label, confidence := costs.Facts{Fact: costs.Fact{Name: "label", Values: []string{"a", "b"}}}, costs.Facts{Fact: costs.Fact{Name: "confidence"}}
	var levels []int
	for row := range rows {
		hard := 4*rng.Float64() - 2
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(row)), append(t.Splits, costs.Train)
		t.Features = append(t.Features, float32(hard), float32(rng.NormFloat64()))
		for i := range n {
			l := draw(rng, w.chance(i, hard))
			levels = append(levels, l)
			wrong := 0
			if rng.Float64() > w.levels[l] {
				wrong = 1
			}
			t.Loss = append(t.Loss, float32(wrong))
			label.Data = append(label.Data, float32(rng.IntN(2)))
			confidence.Data = append(confidence.Data, float32(w.levels[l]))
		}
	}
	t.Facts = []costs.Facts{confidence, label}
	return t, levels
}

func draw(rng *rand.Rand, p []float64) int {
	u := rng.Float64()
	for l, v := range p {
		if u -= v; u < 0 {
			return l
		}
	}
	return len(p) - 1
}

// best plays the best cascade on rows: its mean cost with expected losses.
func (w world) best(t *costs.Tensor, levels []int) (cost float64) {
	n := len(w.fees)
	for row := range t.Len() {
		seen := make([]int, n)
		for i := range seen {
			seen[i] = -1
		}
		for {
			_, i := w.value(float64(t.Row(row)[0]), seen)
			if seen[i] >= 0 {
				cost += 1 - w.levels[seen[i]]
				break
			}
			seen[i] = levels[row*n+i]
			cost += w.fees[i]
		}
	}
	return cost / float64(t.Len())
}

// expected is the mean cost of what was played, with expected losses.
func (w world) expected(p *cascade.Played, levels []int) (cost float64) {
	n := len(w.fees)
	for row, pair := range p.Accepted {
		cost += 1 - w.levels[levels[row*n+pair]]
		for _, fee := range p.Fees[row] {
			cost += fee
		}
	}
	return cost / float64(len(p.Accepted))
}

// quick are settings without networks.
func quick(stages int) Settings {
	s := DefaultSettings()
	s.Auto.Networks, s.Auto.Ridge, s.Auto.Neighbours = nil, []float64{1, 100}, []int{20, 50, 100, 200}
	s.Stages, s.Folds = stages, 2
	return s
}

// On fresh rows, what is learned costs at most .005 more than the best cascade that there is.
func TestPlantedWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("learns six cascades")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	for name, w := range map[string]world{"two stages": twoStages(), "three stages": threeStages()} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, 7))
				train, _ := w.sample(rng, 4000)
				p, r, err := Train(t.Context(), train, 1, quick(w.stages), o)
				if err != nil {
					t.Fatal(err)
				}
				fresh, levels := w.sample(rng, 20_000)
				played, err := playAt(context.Background(), p, fresh, everyRow(fresh), 1, o)
				if err != nil {
					t.Fatal(err)
				}
				got, best := w.expected(played, levels), w.best(fresh, levels)
				off := 0.0 // expected losses of accepted answers, against what they lose in truth
				for row, pair := range played.Accepted {
					off += (float64(played.Expected[row]) - (1 - w.levels[levels[row*len(w.fees)+pair]])) / float64(fresh.Len())
				}
				t.Logf("seed %d: %.4f, best %.4f, one-shot %.4f, guard %+.4f, calibration error %.4f, expected loss off by %+.4f",
					seed, got, best, r.Guard.OneShot, r.Guard.Gain, r.Calibration.Error, off)
				if got > best+0.005 || r.Guard.Fallback || r.Calibration.Error > 0.03 || math.Abs(off) > 0.015 {
					t.Errorf("seed %d: %.4f, the best cascade costs %.4f: %+v", seed, got, best, r.Guard)
				}
			}
		})
	}
}

func everyRow(t *costs.Tensor) []int {
	rows := make([]int, t.Len())
	for n := range rows {
		rows[n] = n
	}
	return rows
}

// playAt plays at the fees of a table at lambda.
func playAt(ctx context.Context, p *cascade.Policy, t *costs.Tensor, rows []int, lambda float64, o models.Options) (*cascade.Played, error) {
	all, err := play(ctx, p, t, rows, fixedPricing(t.Actions, lambda).at, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
