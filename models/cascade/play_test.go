package cascade

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/policy"
)

// ruled is a cascade by a rule: which pair is next on a row, by what was executed on it and what is seen of that.
type ruled struct {
	info *Info
	next func(features []float32, executed []bool, seen []float32) (pair int, accept bool)
}

func (p ruled) Info() *Info { return p.info }

func (p ruled) NextAt(_ context.Context, _ []*policy.Prices, r Rows) (*Decisions, error) {
	pairs, facts := p.info.Actions.Len(), len(p.info.Facts)
	d := &Decisions{}
	for k := range r.N {
		executed := r.Executed[k*pairs : (k+1)*pairs]
		pair, accept := p.next(r.Features[k*p.info.Dim:(k+1)*p.info.Dim], executed, r.Observed[k*pairs*facts:(k+1)*pairs*facts])
		d.Action, d.Accept = append(d.Action, int64(pair)), append(d.Accept, accept)
		d.Loss, d.Remaining = append(d.Loss, float32(pair)), append(d.Remaining, float32(100+pair))
	}
	return d, nil
}

// table is a random table of n rows: three experts, two kinds of advice, measured fees, a label and a confidence. The last pair does
// not exist.
func table(n int, seed uint64) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	t := &costs.Tensor{
		Actions: &costs.Actions{
			Experts: []costs.Expert{{Name: "a", Fee: 0.01}, {Name: "b", Fee: 0.1}, {Name: "c", Fee: 0.3}},
			Advice:  []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.05}}, Unavailable: []costs.Pair{{Expert: 2, Advice: 1}},
		},
		Dim: 2,
	}
	label := costs.Facts{Fact: costs.Fact{Name: "label", Values: []string{"no", "perhaps", "yes"}}}
	sure := costs.Facts{Fact: costs.Fact{Name: "confidence"}}
	for i := range n {
		t.IDs = append(t.IDs, fmt.Sprintf("r%d", i))
		t.Splits = append(t.Splits, costs.Split(i%2))
		t.Features = append(t.Features, r.Float32(), r.Float32())
		for a, exists := range t.Actions.Mask() {
			loss := r.Float32()
			if !exists {
				loss = float32(math.NaN())
			}
			t.Loss, t.Fee = append(t.Loss, loss), append(t.Fee, 0.01*r.Float32())
			label.Data, sure.Data = append(label.Data, float32(r.IntN(3))), append(sure.Data, float32(a)+r.Float32())
		}
	}
	t.Facts = []costs.Facts{sure, label}
	return t
}

// infoOf is that of a cascade for a table, which looks at its label alone, or at both facts.
func infoOf(t *costs.Tensor, stages int, lambda float64, facts ...string) *Info {
	info := &Info{Actions: t.Actions, Dim: t.Dim, Stages: stages, Lambda: lambda}
	for _, name := range facts {
		i := slices.IndexFunc(t.Facts, func(f costs.Facts) bool { return f.Name == name })
		info.Facts = append(info.Facts, t.Facts[i].Fact)
	}
	return info
}

func played(t *testing.T, d Stepper, table *costs.Tensor, rows []int) *Played {
	t.Helper()
	p, err := Play(t.Context(), d, table, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func all(t *costs.Tensor) []int {
	rows := make([]int, t.Len())
	for n := range rows {
		rows[n] = n
	}
	return rows
}

// byChance chooses a pair by a hash of the features and of what was executed, and accepts one of the executed ones in half of the cases,
// or where no other is possible.
func byChance(info *Info) ruled {
	return ruled{info, func(x []float32, executed []bool, _ []float32) (int, bool) {
		var h uint64 = 7
		done := []int(nil)
		for i, e := range executed {
			if e {
				done, h = append(done, i), h*31+uint64(i)
			}
		}
		r := rand.New(rand.NewPCG(uint64(math.Float32bits(x[0])), h))
		if len(done) == info.Stages || len(done) > 0 && r.IntN(2) == 0 {
			return done[r.IntN(len(done))], true
		}
		for {
			if i := r.IntN(len(executed)); !executed[i] && info.Actions.Available(i) {
				return i, false
			}
		}
	}}
}

// A cascade that accepts the first answer everywhere is its first decision: the same pairs, at the same costs.
func TestFirstAnswerIsOneShot(t *testing.T) {
	tensor := table(300, 1)
	pick := func(x []float32) int { return int(5 * x[1]) }
	d := ruled{infoOf(tensor, 3, 0.5, "label"), func(x []float32, executed []bool, _ []float32) (int, bool) { return pick(x), executed[pick(x)] }}
	p := played(t, d, tensor, all(tensor))
	for n := range tensor.Len() {
		want := pick(tensor.Row(n))
		if !slices.Equal(p.Order[n], []int{want}) || p.Accepted[n] != want || p.Expected[n] != float32(want) || p.Planned[n] != float32(100+want) {
			t.Fatalf("row %d: %v, accepted %d, expected %g and %g, want the pair %d alone", n, p.Order[n], p.Accepted[n], p.Expected[n], p.Planned[n], want)
		}
		if got, cost := p.Cost(n), tensor.Cost(n, want, 0.5); math.Abs(got-cost) > 1e-12 {
			t.Fatalf("row %d: cost %g, that of the pair is %g", n, got, cost)
		}
	}
}

// All executed pairs are paid, measured fees too; lambda multiplies the fees of advice; only the accepted answer's loss counts.
func TestEveryExecutedPairIsPaid(t *testing.T) {
	tensor := table(500, 2)
	const lambda = 3
	experts, advice := []float64{0.01, 0.1, 0.3}, []float64{0, 0.05}
	lengths := map[int]int{}
	p := played(t, byChance(infoOf(tensor, 3, lambda, "confidence")), tensor, tensor.Rows(costs.Val))
	for m, pairs := range p.Order {
		n := 2*m + 1 // the rows of the split
		fees := 0.0
		for i := range 6 {
			if slices.Contains(pairs, i) {
				fees += experts[i/2] + lambda*advice[i%2] + float64(tensor.Fee[6*n+i])
			}
		}
		loss := float64(tensor.Loss[6*n+p.Accepted[m]])
		if got := p.Cost(m); p.Loss[m] != loss || math.Abs(got-loss-fees) > 1e-12 {
			t.Fatalf("row %d, %v: loss %g and cost %g, want %g and %g", n, pairs, p.Loss[m], got, loss, loss+fees)
		}
		lengths[len(pairs)]++
	}
	if lengths[1] == 0 || lengths[2] == 0 || lengths[3] == 0 || len(lengths) != 3 {
		t.Errorf("paths of these lengths: %v", lengths)
	}
}

// A cascade sees the facts of the pairs that it executed, by the names and values of its own file, and nothing of the others.
func TestOnlyExecutedAnswersAreSeen(t *testing.T) {
	tensor := table(200, 3)
	info := infoOf(tensor, 3, 1, "label", "confidence")
	info.Facts[0].Values = []string{"no", "other", "yes"} // "perhaps" is not known to the cascade
	chance, states := byChance(info), 0
	d := ruled{info, func(x []float32, executed []bool, seen []float32) (int, bool) {
		n := slices.IndexFunc(all(tensor), func(n int) bool { return tensor.Row(n)[0] == x[0] })
		for i, e := range executed {
			label, sure := float32(math.NaN()), float32(math.NaN())
			if e {
				sure = tensor.Facts[0].Data[6*n+i]
				if label = tensor.Facts[1].Data[6*n+i]; label == 1 {
					label = 3 + 1 // after the values that it knows
				}
			}
			same := func(a, b float32) bool { return a == b || a != a && b != b }
			if !same(seen[2*i], label) || !same(seen[2*i+1], sure) {
				t.Errorf("row %d, pair %d, executed %t: seen %v, want %v and %v", n, i, e, seen[2*i:2*i+2], label, sure)
			}
		}
		states++
		return chance.next(x, executed, seen)
	}}
	played(t, d, tensor, all(tensor))
	if states < 400 {
		t.Errorf("only %d states", states)
	}
}

// A cascade that goes on after all pairs that it may execute is an error that names a row, and not an endless run.
func TestCascadesEnd(t *testing.T) {
	tensor := table(3, 5)
	d := ruled{infoOf(tensor, 2, 1, "label"), func(_ []float32, executed []bool, _ []float32) (int, bool) {
		return slices.Index(executed, false), false
	}}
	if _, err := Play(t.Context(), d, tensor, []int{2, 1}, nil); err == nil || !strings.Contains(err.Error(), `id "r2" has no accepted answer after 2 pairs`) {
		t.Errorf("error %v", err)
	}
}

// A table without the facts of a cascade is refused by the names of what it lacks, and told how to get them. So are other actions
// and other features.
func TestPlayRefusesTables(t *testing.T) {
	whole := table(3, 6)
	d := byChance(infoOf(whole, 2, 1, "label", "confidence"))
	for want, change := range map[string]func(t *costs.Tensor){
		"does not have: observed_label (categories)":                           func(t *costs.Tensor) { t.Facts = t.Facts[:1] },
		"it has no observed_label (categories), observed_confidence (numbers)": func(t *costs.Tensor) { t.Facts = nil },
		"this table does not have: observed_label (categories)":                func(t *costs.Tensor) { t.Facts = slices.Clone(t.Facts); t.Facts[1].Values = nil },
		"experts and 2 advice levels":                                          func(t *costs.Tensor) { a := *t.Actions; a.Experts = a.Experts[:2]; t.Actions = &a },
		"features with digest one, the tensor's have two": func(t *costs.Tensor) {
			a := *t.Actions
			a.Digests = map[string]string{costs.FeatureDigest: "two"}
			t.Actions = &a
		},
	} {
		other := *whole
		change(&other)
		whole.Actions.Digests = map[string]string{costs.FeatureDigest: "one"}
		var missing *MissingError
		_, err := Play(t.Context(), d, &other, []int{0}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if errors.As(err, &missing) && !strings.Contains(missing.Hint(), "pipe costs") {
			t.Errorf("hint %q", missing.Hint())
		}
	}
}
