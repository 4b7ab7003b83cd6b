package auto

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
)

// faint has a structure that a table of some hundred rows shows or not: the best expert changes at 0 by a little.
func faint(by float64) plantedLaw {
	return plantedLaw{
		actions: flat.actions, dim: 8,
		mean: func(x []float32) []float64 {
			m := flat.mean(x)
			if x[0] < 0 {
				m[6] = m[0] - 2*by
			}
			return m
		},
	}
}

// permuted is the table with its rows in another order.
func permuted(t *costs.Tensor, seed uint64) *costs.Tensor {
	return t.Subset(rand.New(rand.NewPCG(seed, 1)).Perm(t.Len()))
}

// TestOrderOfRowsChangesNothing: with neighbours, networks, copies, groups and times, another order of the rows gives the
// same bytes, and so do other ids.
func TestOrderOfRowsChangesNothing(t *testing.T) {
	s := smallAuto()
	s.Steps = 40
	train := structured.tensor(240, costs.Train, 4, true)
	for n := range train.Len() {
		train.Groups = append(train.Groups, fmt.Sprint(n/2))
		train.Times = append(train.Times, int64(n/3)*1e6)
	}
	for n := 0; n < 40; n += 4 {
		copy(train.Row(n+1), train.Row(n))
		copy(train.Row(n+2), train.Row(n)) // of another group, and with the same losses
		copy(train.Losses(n+2), train.Losses(n))
		train.Times[n+2] = train.Times[n]
	}
	older := slices.Repeat([]int{0}, train.Len())
	for n := range older {
		older[n] = 3 * (n % 3)
	}
	s.HalfLife.Set("20s")
	export := func(rows []int, ids string) string {
		s := s
		s.Warm = &Warm{Lambda: 1, Until: 10e6}
		for _, n := range rows {
			s.Warm.Actions = append(s.Warm.Actions, older[n])
		}
		in := train.Subset(rows)
		for n := range in.IDs {
			in.IDs[n] = fmt.Sprint(ids, in.IDs[n])
		}
		policies, _, err := Train(t.Context(), in, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 1)})
		if err != nil {
			t.Fatal(err)
		}
		delete(policies[0].Info, policy.OriginKey) // a digest of the table in its order
		return exported(t, policies[0])
	}
	rows := make([]int, train.Len())
	for n := range rows {
		rows[n] = n
	}
	want := export(rows, "")
	for seed := range uint64(3) {
		if got := export(rand.New(rand.NewPCG(seed, 2)).Perm(len(rows)), []string{"", "other "}[seed%2]); got != want {
			t.Errorf("order %d gives another policy", seed)
		}
	}
}

// TestNewRowsKeepTheOrderOfOthers: rows that are added, as by an append, leave the others in their order.
func TestNewRowsKeepTheOrderOfOthers(t *testing.T) {
	all := flat.tensor(300, costs.Train, 5, true)
	order := func(rows []int) (ids []string) {
		in := all.Subset(rows)
		o := orderOf(in, in.Rows(costs.Train))
		for _, i := range shuffled(o.keys, 7, 0) {
			ids = append(ids, in.IDs[o.rows[i]])
		}
		return ids
	}
	many := rand.New(rand.NewPCG(1, 1)).Perm(300)
	few := many[:200]
	kept := slices.DeleteFunc(order(many), func(id string) bool {
		return !slices.ContainsFunc(few, func(n int) bool { return all.IDs[n] == id })
	})
	if got := order(few); !slices.Equal(got, kept) {
		t.Errorf("the order of 200 rows changes with 100 new ones")
	}
}

// verdicts counts, over tables with structures from none to plain, seeds and orders of rows, how many verdicts agree
// with most of those for their table.
func verdicts(t *testing.T, tables int, guard func(train *costs.Tensor, s Settings) policy.Guard, counts func(policy.Guard) bool) (agree, of, all int) {
	t.Helper()
	const seeds = 8
	for table := range tables {
		train := faint(float64(table)/float64(tables)*0.3).tensor(350, costs.Train, uint64(300+table), true)
		var passed, counted []bool
		pass := 0
		for seed := range uint64(seeds) {
			s := quickAuto()
			s.Seed = seed
			g := guard(permuted(train, seed), s)
			passed, counted = append(passed, !g.Fallback), append(counted, counts(g))
			if !g.Fallback {
				pass++
			}
		}
		for i := range passed {
			all++
			if counted[i] {
				of++
				if passed[i] == (2*pass >= seeds) {
					agree++
				}
			}
		}
		t.Logf("table %d: %d of %d pass", table, pass, seeds)
	}
	return agree, of, all
}

// TestVerdictsAgree: over seeds and orders of rows, 95% of the verdicts that are not called close are the same, and most
// are not called close. One draw of folds alone does not reach that.
func TestVerdictsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("120 searches")
	}
	const tables = 15
	rt := orttest.Open(t, 0)
	settled := func(train *costs.Tensor, s Settings) policy.Guard {
		_, r, err := Train(t.Context(), train, []float64{1}, s, models.Options{Runtime: rt})
		if err != nil {
			t.Fatal(err)
		}
		return r[0].Guard
	}
	one := func(train *costs.Tensor, s Settings) policy.Guard {
		tab, o := newTable(train, s), models.Options{Runtime: rt}
		m, err := crossFit(t.Context(), tab, s, o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, g, err := draw{tab, m}.guard(&judge{t: tab, s: s, prices: []price{atLambda(tab, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		passes, _ := g.Verdict()
		g.Fallback = !passes
		return g.Guard
	}
	agree, clear, all := verdicts(t, tables, settled, func(g policy.Guard) bool { return !g.Close })
	t.Logf("%d of %d clear verdicts agree, of %d in all", agree, clear, all)
	if 100*agree < 95*clear || 3*clear < 2*all {
		t.Errorf("%d of %d clear verdicts agree, of %d in all", agree, clear, all)
	}
	agree, of, _ := verdicts(t, tables, one, func(policy.Guard) bool { return true })
	t.Logf("with one draw alone %d of %d agree", agree, of)
}

// TestCloseVerdictsTakeMoreDraws: a clear verdict is that of the first draw, a close one a mean whose standard error does
// not shrink with the number of draws.
func TestCloseVerdictsTakeMoreDraws(t *testing.T) {
	s := quickAuto()
	for name, c := range map[string]struct {
		law   plantedLaw
		rows  int
		close bool
	}{"plain": {structured, 3000, false}, "none": {flat, 350, false}, "faint": {faint(0.07), 350, true}} {
		train := c.law.tensor(c.rows, costs.Train, 311, true)
		p, r := learned(t, train, s)
		g := r.Guard
		t.Logf("%s: %+v", name, g)
		_, reason := g.Verdict()
		if c.close != (g.Draws == mostDraws && g.Close) || c.close != strings.Contains(reason, "and close: another seed") || !strings.Contains(p.Info[policy.GuardKey], g.JSON()) {
			t.Errorf("%s: %d draws, close %t: %s", name, g.Draws, g.Close, reason)
		}
		if !c.close && (g.Draws != 0 || g.Close) {
			t.Errorf("%s: a clear verdict took %d draws", name, g.Draws)
		}
		if !c.close {
			continue
		}
		tab, o := newTable(train, s), models.Options{Runtime: orttest.Open(t, 0)}
		m, err := crossFit(t.Context(), tab, s, o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, first, err := draw{tab, m}.guard(&judge{t: tab, s: s, prices: []price{atLambda(tab, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if before, after := first.Gain-first.LowerBound, g.Gain-g.LowerBound; after < 0.8*before {
			t.Errorf("the bound is %.4f below the gain with one draw, and %.4f with %d", before, after, g.Draws)
		}
	}
}

// TestDistanceOfVerdicts: what decides is the worst condition, and a policy that never leaves the fixed pair is clear.
func TestDistanceOfVerdicts(t *testing.T) {
	good := policy.PriceGuard{Gain: 3, LowerBound: 2, UpperBound: 4}
	bad := policy.PriceGuard{Gain: -1.1, LowerBound: -2.1, UpperBound: -0.1}
	for name, c := range map[string]struct {
		g    policy.Guard
		want float64
	}{
		"bound":            {policy.Guard{Gain: 3, LowerBound: 1}, 0.5},
		"gain":             {policy.Guard{Rule: policy.RuleGain, Gain: 3, LowerBound: 1}, 1.5},
		"a bad price":      {policy.Guard{Gain: 3, LowerBound: 1, Prices: []policy.PriceGuard{good, bad}}, -0.1 * priceErrors},
		"good prices":      {policy.Guard{Gain: 3, LowerBound: 1, Prices: []policy.PriceGuard{good, {}}}, 0.5},
		"a worse mean":     {policy.Guard{Gain: -3, LowerBound: -5, Prices: []policy.PriceGuard{bad}}, -2.5},
		"nothing is left":  {policy.Guard{}, math.Inf(-1)},
		"the same for all": {policy.Guard{Gain: 1, LowerBound: 1}, math.Inf(1)},
	} {
		failure := 2.0
		if c.g.Gain == c.g.LowerBound {
			failure = 0
		}
		if got := (guarded{c.g, failure}).distance(); math.Abs(got-c.want) > 1e-12 && got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// TestMeanOfDraws: every figure is a mean, those of single prices too, and the draws stay as they are.
func TestMeanOfDraws(t *testing.T) {
	at := func(v float64) guarded {
		p := policy.PriceGuard{FixedLoss: v, Learned: v, Gain: v, LowerBound: v, UpperBound: v, Lambda: 2}
		return guarded{policy.Guard{FixedLoss: v, Learned: v, Gain: v, LowerBound: v, Rows: 7, Prices: []policy.PriceGuard{p}}, v}
	}
	all := []guarded{at(1), at(3), at(5)}
	if got := meanOf(all); !reflect.DeepEqual(got, at(3)) {
		t.Errorf("%+v", got)
	}
	if !reflect.DeepEqual(all[0], at(1)) {
		t.Errorf("the first draw became %+v", all[0])
	}
}

// TestSlowMembersKeepTheirEstimates: with folds another draw fits all but networks again; with an inner split, whose
// held-out rows are others, it fits networks too.
func TestSlowMembersKeepTheirEstimates(t *testing.T) {
	for _, crossFit := range []int{40_000, 100} {
		s := smallAuto()
		s.Steps, s.CrossFit = 40, crossFit
		s.Networks[0].LearningRate = 0.02
		tab, o := newTable(structured.tensor(400, costs.Train, 2, true), s), models.Options{Runtime: orttest.Open(t, 0)}
		m := new(members)
		for _, f := range []regress.Family{regress.Ridge{Penalties: []float64{10}}, networks(s, s.Networks, o)} {
			if err := m.add(t.Context(), tab, f, o); err != nil {
				t.Fatal(err)
			}
		}
		var stages []string
		o.Stage = func(name string, _ int) { stages = append(stages, name) }
		first := draw{tab, m}
		next, err := first.again(t.Context(), 1, s, o)
		if err != nil {
			t.Fatal(err)
		}
		inner := crossFit == 100
		if networks := slices.Contains(stages, "close verdict, draw 2: networks"); networks != inner {
			t.Errorf("cross_fit %d: stages %q", crossFit, stages)
		}
		if slices.Equal(next.held, tab.held) || !slices.Equal(next.members.names, m.names) {
			t.Errorf("cross_fit %d: the second draw is the first, or has the members %q", crossFit, next.members.names)
		}
		for i, same := range []bool{false, !inner} {
			kept, ok := first.kept(next.table, m.estimates[i:i+1])
			if got := ok && slices.Equal(kept[0], next.members.estimates[i]); got != same {
				t.Errorf("cross_fit %d: %s keeps its estimates: %t", crossFit, m.names[i], got)
			}
		}
	}
}
