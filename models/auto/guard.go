package auto

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"pipe/costs"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
)

// stopWindow is the number of stops on either side over which a stop's loss is averaged.
const stopWindow = 2

// choice is a candidate and the index of its best stop.
type choice struct {
	candidate, stop int
	loss            float64
}

// choose picks, per lambda, the choice with the smallest mean cost over all held-out rows; the earlier one on ties.
func (a *auto) choose(f found) []choice {
	out := make([]choice, len(a.lambdas))
	for l := range out {
		out[l] = a.best(f[l], -1)
	}
	return out
}

// best ignores the rows of one block (-1: none).
func (a *auto) best(traces []trace, without int) choice {
	var rows []int32
	for b, blk := range a.blocks {
		if b != without {
			rows = append(rows, blk.rows...)
		}
	}
	pick := choice{loss: math.Inf(1)}
	for c, t := range traces {
		for s, loss := range smoothed(a.means(t, rows)) {
			if loss < pick.loss {
				pick = choice{c, s, loss}
			}
		}
	}
	return pick
}

// means are a trace's mean costs over some held-out rows, per stop.
func (a *auto) means(t trace, rows []int32) []float64 {
	out := make([]float64, len(t))
	for s, costs := range t {
		for _, r := range rows {
			out[s] += float64(costs[a.at[r]])
		}
		out[s] /= float64(len(rows))
	}
	return out
}

// smoothed averages each stop with its neighbours. At a high learning rate decisions change much between two stops, and
// the smallest of many values is partly luck on the held-out rows.
func smoothed(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		near := v[max(0, i-stopWindow):min(len(v), i+stopWindow+1)]
		out[i] = floats.Sum(near) / float64(len(near))
	}
	return out
}

// task is a model that is refitted: its choice and its training rows.
type task struct {
	lambda int
	choice choice
	rows   []int32 // nil: all
}

// fit trains every task with all seeds and returns the members of each.
func (a *auto) fit(ctx context.Context, name string, tasks []task) ([][]network.MLP, error) {
	total := 0
	for _, t := range tasks {
		total += a.s.Seeds * a.steps(a.fitRows(t), a.stops[t.choice.stop])
	}
	a.announce(name, total)
	out := make([][]network.MLP, len(tasks))
	for n, together := range a.lockstep(tasks) {
		var specs []models.Spec
		for _, i := range together {
			for seed := range a.s.Seeds {
				specs = append(specs, a.spec(a.candidate(tasks[i]), tasks[i].lambda, uint64(seed), tasks[i].rows))
			}
		}
		first := tasks[together[0]]
		o := a.stage(fmt.Sprintf("%s-%d", name, n))
		o.Every, o.Record = a.stops[first.choice.stop], stopThere{}
		trained, err := models.Train(ctx, a.problem, specs, a.settingsOf(a.candidate(first)), o)
		if err != nil {
			return nil, err
		}
		for m, i := range together {
			for seed := range a.s.Seeds {
				out[i] = append(out[i], trained[m*a.s.Seeds+seed].Network)
			}
		}
	}
	return out, nil
}

// lockstep groups tasks that can advance together: the same architecture and the same stop. The schedule is that of the
// full run, as in the search.
func (a *auto) lockstep(tasks []task) [][]int {
	type key struct {
		arch string
		stop int
	}
	var groups [][]int
	at := map[key]int{}
	for i, t := range tasks {
		k := key{fmt.Sprint(a.candidate(t).Hidden), t.choice.stop}
		g, seen := at[k]
		if !seen {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

func (a *auto) candidate(t task) Candidate { return a.s.Grid[t.choice.candidate] }

// fitRows is the number of rows that a task trains on.
func (a *auto) fitRows(t task) int {
	if t.rows == nil {
		return a.train.Len()
	}
	return len(t.rows)
}

// stopThere ends training at its first call of Record.
type stopThere struct{}

func (stopThere) Record(context.Context, *models.Snapshot) (bool, error) { return true, nil }
func (stopThere) Save([]int) ([]byte, error)                             { return nil, nil }
func (stopThere) Load([]int, []byte) error                               { return nil }

// guard decides every block with the choice made on the other blocks, and tests the gain over the best fixed pair of
// the training rows.
func (a *auto) guard(ctx context.Context, f found) ([]policy.Guard, error) {
	tasks, of := a.guardTasks(f)
	members, err := a.fit(ctx, "guard", tasks)
	if err != nil {
		return nil, err
	}
	out := make([]policy.Guard, len(a.lambdas))
	for l := range a.lambdas {
		var policies []*policy.Policy
		for b := range a.blocks {
			policies = append(policies, a.policy(l, members[of[l][b]]))
		}
		if out[l], err = a.judge(ctx, l, policies); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// guardTasks are the distinct models that decide the blocks, and for every lambda and block the task that decides it.
func (a *auto) guardTasks(f found) (tasks []task, of [][]int) {
	type key struct{ lambda, part, candidate, stop int }
	at := map[key]int{}
	of = make([][]int, len(a.lambdas))
	for l := range a.lambdas {
		for b, blk := range a.blocks {
			c := a.best(f[l], b)
			k := key{l, blk.part, c.candidate, c.stop}
			i, ok := at[k]
			if !ok {
				i = len(tasks)
				at[k] = i
				tasks = append(tasks, task{l, c, a.parts[blk.part].fit})
			}
			of[l] = append(of[l], i)
		}
	}
	return tasks, of
}

// judge compares the policies, one per block, with the best fixed pair.
func (a *auto) judge(ctx context.Context, l int, policies []*policy.Policy) (g policy.Guard, err error) {
	fixed := a.fixedPolicy(l).Fixed
	g = policy.Guard{Fixed: a.full.Actions.Name(fixed), Confidence: a.s.Confidence}
	var gains []float64
	var held []int
	for b, blk := range a.blocks {
		actions, err := a.decide(ctx, policies[b], blk.rows)
		if err != nil {
			return g, err
		}
		for i, r := range blk.rows {
			n := int(r)
			own := a.train.Cost(n, int(actions[i]), a.lambdas[l])
			constant := a.train.Cost(n, fixed, a.lambdas[l])
			g.Learned += own
			g.FixedLoss += constant
			gains = append(gains, constant-own)
			held = append(held, n)
		}
	}
	g.Rows = len(gains)
	g.Learned /= float64(g.Rows)
	g.FixedLoss /= float64(g.Rows)
	together := a.clusters.Pick(held)
	g.Clusters = together.Len()
	g.Gain, g.LowerBound, err = models.GainLowerBound(gains, together.IDs(), a.s.Confidence)
	g.Fallback = !(g.LowerBound > 0)
	return g, err
}

// decide runs the policy as the file that would be deployed. The Go reference would take minutes on large tables.
func (a *auto) decide(ctx context.Context, p *policy.Policy, rows []int32) ([]int64, error) {
	m, err := p.Export()
	if err != nil {
		return nil, err
	}
	d, err := policy.NewDecider(a.o.Runtime, m)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	features := make([]float32, 0, len(rows)*a.train.Dim)
	for _, r := range rows {
		features = append(features, a.train.Row(int(r))...)
	}
	out, err := d.Decide(ctx, features, len(rows))
	if err != nil {
		return nil, err
	}
	return out.Action, nil
}

func (a *auto) fixedSummary(l int) costs.Summary {
	return costs.Summarize(a.full, a.full.Rows(costs.Train), a.lambdas[l])
}

func (a *auto) policy(l int, members []network.MLP) *policy.Policy {
	return &policy.Policy{
		Actions: a.full.Actions, Method: Name, Recipe: Name, Lambda: a.lambdas[l],
		Decoder: policy.DecoderComposite, Dim: a.full.Dim, Standard: a.std, Members: members,
	}
}

// refit trains the chosen candidates on all training rows.
func (a *auto) refit(ctx context.Context, chosen []choice) ([]*policy.Policy, error) {
	var tasks []task
	for l, c := range chosen {
		tasks = append(tasks, task{lambda: l, choice: c})
	}
	members, err := a.fit(ctx, "refit", tasks)
	if err != nil {
		return nil, err
	}
	var out []*policy.Policy
	for l := range a.lambdas {
		out = append(out, a.policy(l, members[l]))
	}
	return out, nil
}

func (a *auto) fixedPolicy(l int) *policy.Policy {
	sum := a.fixedSummary(l)
	p := policy.NewFixed(a.full.Actions, sum.Cost, a.lambdas[l], a.full.Dim)
	p.Method, p.Recipe = Name, Name
	return p
}
