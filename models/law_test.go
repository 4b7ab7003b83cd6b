package models

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
)

// actionsOf names J experts and K+1 advice levels with the given fees.
func actionsOf(beta, gamma []float64) *costs.Actions {
	a := &costs.Actions{}
	for j, fee := range beta {
		a.Experts = append(a.Experts, costs.Expert{Name: string(rune('A' + j)), Fee: fee})
	}
	for k, fee := range gamma {
		a.Advice = append(a.Advice, costs.Advice{Name: string(rune('a' + k)), Fee: fee})
	}
	return a
}

// tensorOf has one row per loss table, one feature (the row number) each.
func tensorOf(a *costs.Actions, losses ...[]float32) *costs.Tensor {
	t := &costs.Tensor{Actions: a, Dim: 1}
	for n, row := range losses {
		t.IDs = append(t.IDs, string(rune('0'+n)))
		t.Splits = append(t.Splits, costs.Val)
		t.Features = append(t.Features, float32(n))
		t.Loss = append(t.Loss, row...)
	}
	return t
}

// Worked example: routers and queries chosen separately execute one pair, and
// only that pair is paid for.
func TestExecutedPairExample(t *testing.T) {
	a := actionsOf([]float64{0, 0, 0}, []float64{0, 0, 0})
	p := &Policy{
		Actions: a, Method: "separated_softmax", Tau: 1, Decoder: DecoderSeparatedSoftmax,
		Members: []MLP{{Layers: []Affine{{Out: 12, In: 1, W: make([]float32, 12), B: []float32{
			0.8, 1.2, 0.5,
			0.6, 0.3, 0.1,
			0.2, 0.9, 0.4,
			0.5, 0.1, 0.7,
		}}}}},
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	action := p.Decide([]float32{0})
	if j, k := a.Pair(action); j != 1 || k != 1 {
		t.Fatalf("executed pair (%d, %d), want (1, 1)", j, k)
	}
	tensor := tensorOf(a, []float32{0.35, 0.42, 0.38, 0.40, 0.20, 0.45, 0.50, 0.48, 0.25})
	if loss := tensor.TrueLoss([]int{0}, []int{action}, 1); math.Abs(loss-0.20) > 1e-7 {
		t.Fatalf("true loss %v, want 0.20", loss)
	}
}

// Worked example: advice changes which expert is best.
func TestBayesExample(t *testing.T) {
	a := actionsOf([]float64{0, 0, 0}, []float64{0, 0, 0})
	tensor := tensorOf(a, []float32{0.32, 0.41, 0.36, 0.35, 0.27, 0.40, 0.38, 0.33, 0.24})
	for j, want := range []int{0, 1, 2} {
		if got := bestAdvice(tensor, 0, j, 1); got != want {
			t.Errorf("best advice of expert %d is %d, want %d", j, got, want)
		}
	}
	in := BaselineInput{Tensor: tensor, Rows: []int{0}, Lambda: 1}
	for name, want := range map[string]struct {
		action int
		loss   float64
	}{"oracle": {8, 0.24}, "oracle_no_advice": {0, 0.32}} {
		actions, err := RunBaseline(name, in)
		if err != nil {
			t.Fatal(err)
		}
		if loss := tensor.TrueLoss(in.Rows, actions, 1); actions[0] != want.action || math.Abs(loss-want.loss) > 1e-7 {
			t.Errorf("%s takes %d at %v, want %d at %v", name, actions[0], loss, want.action, want.loss)
		}
	}
}

// bestAdvice is the smallest-cost advice of an expert, smallest index on ties.
func bestAdvice(t *costs.Tensor, n, j int, lambda float64) int {
	best := 0
	for k := range t.Actions.Advice {
		if t.Cost(n, t.Actions.Index(j, k), lambda) < t.Cost(n, t.Actions.Index(j, best), lambda) {
			best = k
		}
	}
	return best
}

func drawTensor(t *rapid.T, rows int) *costs.Tensor {
	j, levels := rapid.IntRange(1, 4).Draw(t, "experts"), rapid.IntRange(1, 4).Draw(t, "levels")
	fee := rapid.Map(rapid.IntRange(0, 8), func(i int) float64 { return float64(i) / 8 })
	beta := rapid.SliceOfN(fee, j, j).Draw(t, "beta")
	gamma := rapid.SliceOfN(fee, levels, levels).Draw(t, "gamma")
	gamma[0] = 0
	tensor := tensorOf(actionsOf(beta, gamma))
	// Eighths add exactly, so that ties are ties.
	loss := rapid.Map(rapid.IntRange(0, 8), func(i int) float32 { return float32(i) / 8 })
	for n := range rows {
		tensor.IDs = append(tensor.IDs, string(rune('0'+n)))
		tensor.Splits = append(tensor.Splits, costs.Val)
		tensor.Features = append(tensor.Features, float32(n))
		tensor.Loss = append(tensor.Loss, rapid.SliceOfN(loss, j*levels, j*levels).Draw(t, "loss")...)
	}
	return tensor
}

// c_pi = D + sum_i w_i 1{pi != i} with D = sum c - (|Pi|-1) max c.
func TestMismatchIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t, 1)
		c := tensor.Costs(nil, 0, 1)
		largest, sum := c[0], 0.0
		for _, v := range c {
			largest = math.Max(largest, v)
			sum += v
		}
		d := sum - float64(len(c)-1)*largest
		for pi := range c {
			total := d
			for i := range c {
				if i != pi {
					total += largest - c[i]
				}
			}
			if math.Abs(total-c[pi]) > 1e-12 {
				t.Fatalf("action %d of %v: identity gives %v", pi, c, total)
			}
		}
	})
}

// Some advice is bought for an expert exactly when one reduces its loss by more
// than the deployed fee; a reduction that equals the fee buys nothing.
func TestAdviceIsBoughtExactlyWhenWorthIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t, 1)
		lambda := float64(rapid.IntRange(0, 3).Draw(t, "lambda"))
		for j := range tensor.Actions.Experts {
			worth := false
			for k, v := range tensor.Actions.Advice {
				saved := float64(tensor.Loss[tensor.Actions.Index(j, 0)] - tensor.Loss[tensor.Actions.Index(j, k)])
				worth = worth || saved > lambda*v.Fee
			}
			if bought := bestAdvice(tensor, 0, j, lambda) != 0; bought != worth {
				t.Fatalf("expert %d: bought %v, worth it %v", j, bought, worth)
			}
		}
	})
}

// The oracle with advice is never worse than the one without, and strictly
// better exactly when advice lowers the best cost somewhere.
func TestAdviceDominates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t, 3)
		in := BaselineInput{Tensor: tensor, Rows: []int{0, 1, 2}, Lambda: float64(rapid.IntRange(0, 3).Draw(t, "lambda"))}
		with, err := RunBaseline("oracle", in)
		if err != nil {
			t.Fatal(err)
		}
		without, err := RunBaseline("oracle_no_advice", in)
		if err != nil {
			t.Fatal(err)
		}
		lower := false
		for n := range in.Rows {
			lower = lower || tensor.Cost(n, with[n], in.Lambda) < tensor.Cost(n, without[n], in.Lambda)
		}
		a, b := tensor.TrueLoss(in.Rows, with, in.Lambda), tensor.TrueLoss(in.Rows, without, in.Lambda)
		if a > b || (a < b) != lower {
			t.Fatalf("with advice %v, without %v, lower somewhere: %v", a, b, lower)
		}
	})
}

// rowSummary is F(u, v) = min over q of u log(1+e^-q) + v log(1+e^q), reached
// at q = log(u/v): what the separated surrogate reduces an expert's row to.
func rowSummary(u, v float64) float64 {
	return u*math.Log((u+v)/u) + v*math.Log((u+v)/v)
}

func TestSeparatedSurrogateReversesTheComparison(t *testing.T) {
	good, bad := rowSummary(0.38, 1.08), rowSummary(0.50, 0.51)
	if math.Abs(good-0.8371) > 5e-5 || math.Abs(bad-0.7000) > 5e-5 {
		t.Fatalf("F(0.38, 1.08) = %.4f, F(0.50, 0.51) = %.4f; want 0.8371 and 0.7000", good, bad)
	}
	for _, c := range [][2]float64{{0.38, 1.08}, {0.50, 0.51}, {0.18, 0.55}} {
		best := math.Inf(1)
		for q := -12.0; q <= 12; q += 1e-4 {
			best = math.Min(best, c[0]*math.Log1p(math.Exp(-q))+c[1]*math.Log1p(math.Exp(q)))
		}
		if math.Abs(best-rowSummary(c[0], c[1])) > 1e-7 {
			t.Errorf("F(%v, %v) = %v, minimum found %v", c[0], c[1], rowSummary(c[0], c[1]), best)
		}
	}
}
