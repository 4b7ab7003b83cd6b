package costs

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// oneRow is a tensor of a single instance with the given costs as losses and
// without fees.
func oneRow(experts int, losses ...float32) *Tensor {
	a := testActions(experts, len(losses)/experts)
	for j := range a.Experts {
		a.Experts[j].Fee = 0
	}
	for k := range a.Advice {
		a.Advice[k].Fee = 0
	}
	return &Tensor{Actions: a, IDs: []string{"x"}, Splits: make([]Split, 1), Dim: 1, Features: []float32{0}, Loss: losses}
}

func TestWorkedExample(t *testing.T) {
	tensor := oneRow(3, 0.35, 0.42, 0.38, 0.40, 0.20, 0.45, 0.50, 0.48, 0.25)
	router := []float64{0.8, 1.2, 0.5}
	queries := [][]float64{{0.6, 0.3, 0.1}, {0.2, 0.9, 0.4}, {0.5, 0.1, 0.7}}
	j := slices.Index(router, slices.Max(router))
	k := slices.Index(queries[j], slices.Max(queries[j]))
	if j != 1 || k != 1 {
		t.Fatalf("executed pair is (%d, %d), expected (1, 1)", j, k)
	}
	near(t, "true loss", tensor.TrueLoss([]int{0}, []int{tensor.Actions.Index(j, k)}, 1), 0.20, 1e-7)
}

func TestBayesChoiceExample(t *testing.T) {
	tensor := oneRow(3, 0.32, 0.41, 0.36, 0.35, 0.27, 0.40, 0.38, 0.33, 0.24)
	s := Summarize(tensor, []int{0}, 1)
	if j, k := tensor.Actions.Pair(s.Best); j != 2 || k != 2 {
		t.Errorf("best pair is (%d, %d), expected (2, 2)", j, k)
	}
	near(t, "Bayes cost", s.BestCost, 0.24, 1e-7)
	if s.BestNoAdvice != 0 {
		t.Errorf("best action without advice is %d, expected 0", s.BestNoAdvice)
	}
	near(t, "cost without advice", s.BestNoAdviceCost, 0.32, 1e-7)
	for j, want := range []int{0, 1, 2} {
		costs := tensor.Costs(nil, 0, 1)[3*j : 3*j+3]
		if got := slices.Index(costs, slices.Min(costs)); got != want {
			t.Errorf("best advice of expert %d is %d, expected %d", j, got, want)
		}
	}
}

// The realised cost of any decision is a constant of the instance plus the
// weights of the actions that were not chosen.
func TestMismatchIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t)
		if tensor.Actions.Unavailable != nil {
			t.Skip("the identity is about finite costs")
		}
		c := tensor.Costs(nil, 0, rapid.Float64Range(0, 10).Draw(t, "lambda"))
		highest, sum := slices.Max(c), 0.0
		for _, v := range c {
			sum += v
		}
		constant := sum - float64(len(c)-1)*highest
		chosen := rapid.IntRange(0, len(c)-1).Draw(t, "chosen")
		got := constant
		for i, v := range c {
			if i != chosen {
				got += highest - v
			}
		}
		if math.Abs(got-c[chosen]) > 1e-9 {
			t.Fatalf("identity gives %v for a cost of %v", got, c[chosen])
		}
	})
}

func TestAdviceNeverHurtsTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t)
		s := Summarize(tensor, everyRow(tensor.Len()), rapid.Float64Range(0, 4).Draw(t, "lambda"))
		if s.Oracle > s.OracleNoAdvice || s.Oracle > s.BestCost+1e-12 || s.BestCost > s.BestNoAdviceCost || s.Headroom() < -1e-12 {
			t.Fatalf("order is broken: %+v", s)
		}
		if s.OracleAdviceRate == 0 && s.Oracle < s.OracleNoAdvice {
			t.Fatalf("the oracle gains from advice that it does not buy: %+v", s)
		}
	})
}

// Advice is bought for an expert if and only if some level saves more loss than
// its deployed fee; the level bought has the smallest cost.
func TestAdviceIsBoughtWhenItPays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t)
		tensor.Fee = nil
		lambda := rapid.Float64Range(0, 4).Draw(t, "lambda")
		a := tensor.Actions
		costs := tensor.Costs(nil, 0, lambda)
		for j := range a.Experts {
			plain := a.Index(j, 0)
			if !a.Available(plain) {
				continue
			}
			pays := false
			for k := 1; k < len(a.Advice); k++ {
				i := a.Index(j, k)
				if a.Available(i) && float64(tensor.Loss[plain]-tensor.Loss[i])-lambda*a.Advice[k].Fee > 0 {
					pays = true
				}
			}
			row := costs[plain : plain+len(a.Advice)]
			if bought := slices.Index(row, slices.Min(row)) != 0; bought != pays && math.Abs(slices.Min(row)-row[0]) > 1e-9 {
				t.Fatalf("expert %d: bought %t, pays %t, costs %v", j, bought, pays, row)
			}
		}
	})
}

func TestPermutingExpertsPermutesCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t)
		a, lambda := tensor.Actions, rapid.Float64Range(0, 4).Draw(t, "lambda")
		order := rapid.Permutation(allIndexes(len(a.Experts))).Draw(t, "order")
		permuted := *tensor
		b := *a
		b.Experts, b.Unavailable = nil, nil
		permuted.Actions, permuted.Loss, permuted.Fee, permuted.Propensity, permuted.Facts = &b, nil, nil, nil, nil
		for j, from := range order {
			b.Experts = append(b.Experts, a.Experts[from])
			for _, u := range a.Unavailable {
				if u.Expert == from {
					b.Unavailable = append(b.Unavailable, Pair{j, u.Advice})
				}
			}
		}
		width := len(a.Advice)
		for n := range tensor.Len() {
			for _, from := range order {
				at := n*a.Len() + from*width
				permuted.Loss = append(permuted.Loss, tensor.Loss[at:at+width]...)
				if tensor.Fee != nil {
					permuted.Fee = append(permuted.Fee, tensor.Fee[at:at+width]...)
				}
			}
		}
		if err := permuted.Validate(); err != nil {
			t.Fatal(err)
		}
		for n := range min(5, tensor.Len()) {
			want, got := tensor.Costs(nil, n, lambda), permuted.Costs(nil, n, lambda)
			for j, from := range order {
				if !cmp.Equal(got[j*width:(j+1)*width], want[from*width:(from+1)*width]) {
					t.Fatalf("costs of expert %d changed", from)
				}
			}
		}
	})
}

func allIndexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestTrueLossIsMeanOfCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := drawTensor(t)
		lambda := rapid.Float64Range(0, 4).Draw(t, "lambda")
		rows := everyRow(tensor.Len())
		choice := rapid.IntRange(0, tensor.Actions.Len()-1).Draw(t, "choice")
		chosen := slices.Repeat([]int{choice}, len(rows))
		s := Summarize(tensor, rows, lambda)
		got := tensor.TrueLoss(rows, chosen, lambda)
		if !tensor.Actions.Available(choice) {
			if !math.IsInf(got, 1) || !math.IsInf(s.Cost[choice], 1) {
				t.Fatalf("an unavailable action costs %v and %v", got, s.Cost[choice])
			}
			return
		}
		if math.Abs(got-s.Cost[choice]) > 1e-12 {
			t.Fatalf("true loss %v, summary %v", got, s.Cost[choice])
		}
	})
}

func TestDigestSeesEveryField(t *testing.T) {
	base := testTensor(9, 30, 3, testActions(2, 2))
	seen := map[string]string{base.Digest(): "nothing"}
	for name, change := range map[string]func(*Tensor){
		"id":          func(t *Tensor) { t.IDs[3] = "other" },
		"split":       func(t *Tensor) { t.Splits[3] = (t.Splits[3] + 1) % 3 },
		"group":       func(t *Tensor) { t.Groups[3] = "other" },
		"times":       func(t *Tensor) { t.Times = make([]int64, t.Len()) },
		"other times": func(t *Tensor) { t.Times = make([]int64, t.Len()); t.Times[3] = 1 },
		"unknown":     func(t *Tensor) { t.Loss[3] = float32(math.NaN()) },
		"no groups":   func(t *Tensor) { t.Groups = nil },
		"label":       func(t *Tensor) { t.Labels[3] = "other" },
		"no labels":   func(t *Tensor) { t.Labels = nil },
		"prediction":  func(t *Tensor) { t.Predictions[3] = "other" },
		"feature":     func(t *Tensor) { t.Features[3]++ },
		"loss":        func(t *Tensor) { t.Loss[3]++ },
		"fee":         func(t *Tensor) { t.Fee[3]++ },
		"usage":       func(t *Tensor) { t.Usage[Seconds][3]++ },
		"no calls":    func(t *Tensor) { t.Usage[Calls] = nil },
		"propensity":  func(t *Tensor) { t.Propensity = make([]float64, len(t.Loss)) },
		"known":       func(t *Tensor) { t.Propensity = make([]float64, len(t.Loss)); t.Propensity[3] = math.NaN() },
		"action fee":  func(t *Tensor) { t.Actions.Experts[1].Fee++ },
		"facts":       func(t *Tensor) { t.Facts = factsFor(t, 1, 4) },
		"other facts": func(t *Tensor) { t.Facts = factsFor(t, 2, 4) },
		"no fact":     func(t *Tensor) { t.Facts = factsFor(t, 1, 4)[1:] },
		"fact's name": func(t *Tensor) { t.Facts = factsFor(t, 1, 4); t.Facts[3].Name = "logprob" },
		"fact's text": func(t *Tensor) { t.Facts = factsFor(t, 1, 4); t.Facts[2].Values[0] = "A" },
		"number":      func(t *Tensor) { t.Facts = factsFor(t, 1, 4); t.Facts[2].Values = nil },
		"fact":        func(t *Tensor) { t.Facts = factsFor(t, 1, 4); t.Facts[0].Data[3]++ },
	} {
		changed := testTensor(9, 30, 3, testActions(2, 2))
		change(changed)
		d := changed.Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("a change of %s has the digest of a change of %s", name, other)
		}
		seen[d] = name
	}
}

func TestSubset(t *testing.T) {
	tensor := testTensor(2, 50, 3, testActions(2, 3))
	rows := tensor.Rows(Val)
	sub := tensor.Subset(rows)
	if err := sub.Validate(); err != nil || sub.Len() != len(rows) || len(rows) == 0 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for i, n := range rows {
		if sub.IDs[i] != tensor.IDs[n] || sub.Groups[i] != tensor.Groups[n] || !cmp.Equal(sub.Row(i), tensor.Row(n)) || !cmp.Equal(sub.Costs(nil, i, 2), tensor.Costs(nil, n, 2)) {
			t.Fatalf("row %d differs from row %d", i, n)
		}
	}
	if cmp.Equal(sub.Loss, tensor.Loss) {
		t.Error("subset is the whole")
	}
}

func TestSplitNames(t *testing.T) {
	for s := Train; s <= Test; s++ {
		if got, err := ParseSplit(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	if _, err := ParseSplit("validation"); err == nil {
		t.Error("an unknown split was accepted")
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, expected %v within %v", what, got, want, tolerance)
	}
}

// TestValidateWithoutContent: what is missing altogether is an error, not a panic.
func TestValidateWithoutContent(t *testing.T) {
	var none *Tensor
	var data *DataError
	if err := none.Validate(); !errors.As(err, &data) {
		t.Errorf("no tensor: %v", err)
	}
	if err := (&Tensor{}).Validate(); !errors.As(err, &data) {
		t.Errorf("no actions: %v", err)
	}
	if err := (*Actions)(nil).Validate(); err == nil {
		t.Error("no actions: no error")
	}
}

func TestCheckLambdas(t *testing.T) {
	for want, lambdas := range map[string][]float64{
		"the list is empty": nil, "-1 is not": {-1}, "NaN is not": {math.NaN()}, "+Inf is not": {math.Inf(1)}, "1 is a duplicate": {1, 0, 1},
	} {
		if err := CheckLambdas(lambdas); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", lambdas, err, want)
		}
	}
	if err := CheckLambdas([]float64{0, 1, 0.5}); err != nil {
		t.Error(err)
	}
}
