package models

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"pipe/onnx/ort/orttest"
)

// torchSteps is models/testdata/torch_steps.json: three AdamW steps computed
// by PyTorch in double precision (tools/peer/golden.py writes it).
type torchSteps struct {
	Data map[string]struct {
		Experts, Levels int
		Beta, Gamma     []float64
		Features, Loss  [][]float32
	}
	Initial map[string]torchWeights
	Cases   []struct {
		Name, Data, Method, Head string
		Tau, Lambda              float64
		Unavailable              []int
		Optimizer                struct {
			LR          float64 `json:"lr"`
			WeightDecay float64 `json:"weight_decay"`
			Clip        float64
			Schedule    string
			TotalSteps  int `json:"total_steps"`
			Warmup      float64
		}
		Start string
		Steps []struct{ Loss float64 }
		Final torchWeights
	}
}

type torchWeights struct {
	Layers []struct {
		W [][]float32
		B []float32
	}
	Head struct {
		W, A, M, G    [][]float32
		B, Rho, Delta []float32
	}
}

// flat lists the weights in the order of scorer.params. pick[o] is the row of output o in a linear head, -1 for zeros;
// nil takes all rows in order.
func (w torchWeights) flat(pick []int) [][]float32 {
	join := func(rows [][]float32) (out []float32) {
		for _, r := range rows {
			out = append(out, r...)
		}
		return out
	}
	var out [][]float32
	for _, l := range w.Layers {
		out = append(out, join(l.W), l.B)
	}
	h := w.Head
	if h.Rho != nil {
		return append(out, h.Rho, join(h.A), h.Delta, join(h.M), join(h.G))
	}
	if pick == nil {
		return append(out, join(h.W), h.B)
	}
	var hw, hb []float32
	for _, o := range pick {
		if o < 0 {
			hw, hb = append(hw, make([]float32, len(h.W[0]))...), append(hb, 0)
			continue
		}
		hw, hb = append(hw, h.W[o]...), append(hb, h.B[o])
	}
	return append(out, hw, hb)
}

func TestStepsEqualPyTorch(t *testing.T) {
	raw, err := os.ReadFile("testdata/torch_steps.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden torchSteps
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 20 {
		t.Fatalf("golden has only %d cases", len(golden.Cases))
	}
	rt := orttest.Open(t, 0)
	for _, c := range golden.Cases {
		t.Run(strings.ReplaceAll(c.Name, "/", "_"), func(t *testing.T) {
			d := golden.Data[c.Data]
			p := &Problem{Dim: len(d.Features[0]), Experts: d.Experts, Advice: d.Levels, Beta: d.Beta, Gamma: d.Gamma}
			for i := range d.Features {
				p.Features = append(p.Features, d.Features[i]...)
				p.Target = append(p.Target, d.Loss[i]...)
			}
			s := DefaultSettings()
			s.Hidden, s.Batch, s.Epochs, s.Clip = []int{7, 6}, 8, c.Optimizer.TotalSteps, c.Optimizer.Clip
			s.Schedule, s.Warmup = c.Optimizer.Schedule, c.Optimizer.Warmup
			s.Head = c.Head
			s.Surrogate = map[string]string{"augmented": "comp_sum", "l2d": "comp_sum"}[c.Method]
			if s.Surrogate == "" {
				s.Surrogate = c.Method
			}
			spec := Spec{Name: c.Name, Lambda: c.Lambda, Tau: c.Tau, LearningRate: c.Optimizer.LR, WeightDecay: c.Optimizer.WeightDecay}
			var pick []int
			if c.Method == "l2d" || len(c.Unavailable) > 0 {
				spec.Mask = make([]bool, p.actions())
				for i := range spec.Mask {
					spec.Mask[i] = c.Method != "l2d" || i%p.Advice == 0
				}
				for _, i := range c.Unavailable {
					spec.Mask[i] = false
				}
			}
			if c.Method == "l2d" {
				for i := range p.actions() {
					if i%p.Advice == 0 {
						pick = append(pick, i/p.Advice)
					} else {
						pick = append(pick, -1)
					}
				}
			}
			// Two copies of the model must stay equal to the golden, and the
			// second is at another position of the group.
			sur, err := surrogateNamed(s.Surrogate)
			if err != nil {
				t.Fatal(err)
			}
			groups, err := planGroups(p, []Spec{spec, spec}, withGroup(s, 2), sur, false)
			if err != nil {
				t.Fatal(err)
			}
			data, err := newTrainingData(rt, p, false)
			if err != nil {
				t.Fatal(err)
			}
			defer data.Close()
			r, err := newRun(groups[0], data, Options{Runtime: rt})
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			for m := range 2 {
				setParams(r, m, golden.Initial[c.Start].flat(pick))
			}
			if err := r.advance(context.Background(), 3); err != nil {
				t.Fatal(err)
			}
			for m := range 2 {
				for i, step := range c.Steps {
					if got := r.losses[m][i]; math.Abs(got-step.Loss) > 2e-6*math.Max(1, math.Abs(step.Loss)) {
						t.Errorf("model %d: loss of step %d is %.8g, want %.8g", m, i, got, step.Loss)
					}
				}
				got := r.params(m)
				for i, want := range c.Final.flat(pick) {
					for k := range want {
						if math.Abs(float64(got[i][k]-want[k])) > 5e-6 {
							t.Fatalf("model %d: %s[%d] is %.8g, want %.8g", m, r.g.plan.net.params()[i].name, k, got[i][k], want[k])
						}
					}
				}
			}
		})
	}
}

func withGroup(s Settings, n int) Settings { s.Group = n; return s }

func setParams(r *run, m int, params [][]float32) {
	for i, p := range r.g.plan.net.params() {
		copy(r.state[r.front][3*i].Float32s()[m*p.size():(m+1)*p.size()], params[i])
	}
}
