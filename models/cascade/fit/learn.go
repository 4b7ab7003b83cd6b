package fit

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/cascade"
	"pipe/models/policy"
)

// learner learns a cascade from rows that are all training rows.
type learner struct {
	t      *costs.Tensor
	groups []string // say which rows belong together, in states
	lambda float64
	s      Settings
	o      models.Options
	prefix string // of stages that are announced
	folder string // of checkpoints, below that of the options

	pairs   []int                // that may be executed after another
	allowed []bool               // the same, by pair
	columns []float32            // what is seen, rows x A*F
	cost    map[string][]float32 // by state that was learned: what every row cost from there on; NaN where it is not known
}

func newLearner(t *costs.Tensor, groups []string, lambda float64, s Settings, o models.Options) *learner {
	l := &learner{t: t, groups: groups, lambda: lambda, s: s, o: o, folder: "all", cost: make(map[string][]float32)}
	l.pairs = promising(t, lambda, s)
	l.allowed = make([]bool, t.Actions.Len())
	for _, i := range l.pairs {
		l.allowed[i] = true
	}
	l.columns = seenColumns(t)
	return l
}

// seenColumns has what is seen of all answers, rows x A*F.
func seenColumns(t *costs.Tensor) []float32 {
	pairs, facts := t.Actions.Len(), len(t.Facts)
	out := make([]float32, t.Len()*pairs*facts)
	for f, fact := range t.Facts {
		for at, v := range fact.Data {
			out[at*facts+f] = v
		}
	}
	return out
}

// oneShot is the policy of the recipe, on the features alone.
func (l *learner) oneShot(ctx context.Context) (*policy.Policy, auto.Report, error) {
	return l.auto(ctx, l.t, l.lambda, "one-shot", "one-shot", l.s.Auto)
}

// auto is the recipe for one lambda. Its checkpoints are in a folder.
func (l *learner) auto(ctx context.Context, t *costs.Tensor, lambda float64, name, folder string, s auto.Settings) (*policy.Policy, auto.Report, error) {
	o := l.o
	if o.Save.Dir != "" {
		o.Save.Dir = filepath.Join(o.Save.Dir, l.folder, folder)
	}
	if say := o.Stage; say != nil {
		o.Stage = func(stage string, steps int) { say(l.prefix+name+": "+stage, steps) }
	}
	policies, reports, err := auto.Train(ctx, t, []float64{lambda}, s, o)
	if err != nil {
		return nil, auto.Report{}, fmt.Errorf("%s: %w", name, err)
	}
	return policies[0], reports[0], nil
}

// states learns every state, the largest first, and returns them with the empty one first.
func (l *learner) states(ctx context.Context) (out []cascade.State, reports []StateReport, err error) {
	for size := min(l.s.Stages, len(l.pairs)); size >= 0; size-- {
		for _, executed := range sets(l.pairs, size) {
			state, report, err := l.state(ctx, executed)
			if err != nil {
				return nil, nil, err
			}
			out, reports = append(out, state), append(reports, report)
		}
	}
	slices.Reverse(out)
	slices.Reverse(reports)
	return out, reports, nil
}

// state learns one state, and what rows cost from there on.
func (l *learner) state(ctx context.Context, executed []int) (cascade.State, StateReport, error) {
	t, e := l.table(executed)
	s := l.s.Auto
	apart := true                                             // groups say it
	s.Apart, s.Narrow, s.CrossFit = &apart, true, math.MaxInt // every row needs a decision by what others learned
	folder := "state"
	for _, i := range executed {
		folder += fmt.Sprintf("-%d", i)
	}
	p, r, err := l.auto(ctx, t, 1, l.name(executed), folder, s)
	if err != nil {
		return cascade.State{}, StateReport{}, err
	}
	cost := slices.Repeat([]float32{float32(math.NaN())}, t.Len())
	for _, d := range r.Held {
		cost[d.Row] = float32(t.Cost(d.Row, d.Action, 1))
	}
	l.cost[fmt.Sprint(executed)] = cost
	report := StateReport{Executed: []string{}, Rows: len(r.Held), Guard: r.Guard, Members: r.Members}
	for _, i := range executed {
		report.Executed = append(report.Executed, l.t.Actions.Name(i))
	}
	for i, name := range t.Actions.Names() {
		if name == r.Guard.Fixed {
			report.Guard.Fixed = l.t.Actions.Name(i)
		}
	}
	return cascade.State{Executed: executed, Encoding: e, Policy: p}, report, nil
}

// name says which state is learned.
func (l *learner) name(executed []int) string {
	name := "nothing"
	for n, i := range executed {
		if n == 0 {
			name = l.t.Actions.Name(i)
		} else {
			name += " and " + l.t.Actions.Name(i)
		}
	}
	return "after " + name
}

// table is what a state is learned from, as a table of pairs that are executed next or accepted.
func (l *learner) table(executed []int) (*costs.Tensor, cascade.Encoding) {
	rows := make([]int, l.t.Len())
	for n := range rows {
		rows[n] = n
	}
	e := encodingOf(l.t, rows, executed, l.s.Values)
	t := &costs.Tensor{
		IDs: l.t.IDs, Splits: l.t.Splits, Groups: l.groups, Times: l.t.Times, Dim: e.Width(),
		Actions: cascade.PairActions(l.t.Actions, l.lambda, executed, l.next(executed), e.Width()),
	}
	columns := len(l.columns) / l.t.Len()
	for n := range rows {
		t.Features = e.Encode(t.Features, l.t.Row(n), l.columns[n*columns:(n+1)*columns])
	}
	blocks := l.t.Blocks()
	if seen := e.Width() - e.Dim; seen > 0 {
		blocks = append(slices.Clone(blocks), seen)
	}
	t.Meta = map[string]string{costs.BlocksKey: costs.BlocksText(blocks)}
	l.outcomes(t, executed)
	return t, e
}

// next are the pairs that a state may choose: to accept, or to execute next. nil: all.
func (l *learner) next(executed []int) []bool {
	if len(executed) == 0 {
		return nil
	}
	may := make([]bool, len(l.allowed))
	if len(executed) < l.s.Stages {
		copy(may, l.allowed)
	}
	for _, i := range executed {
		may[i] = true
	}
	return may
}

// outcomes fills in losses, and measured fees if there are any.
func (l *learner) outcomes(t *costs.Tensor, executed []int) {
	pairs, mask := t.Actions.Len(), t.Actions.Mask()
	t.Loss = slices.Clone(l.t.Loss)
	t.Fee = slices.Clone(l.t.Fee)
	for i := range pairs {
		done := slices.Contains(executed, i)
		later, learned := l.cost[fmt.Sprint(with(executed, i))]
		for n := range t.Len() {
			at := n*pairs + i
			switch {
			case !mask[i]:
				t.Loss[at] = float32(math.NaN())
			case done && t.Fee != nil:
				t.Fee[at] = 0 // it was paid
			case !done && learned:
				t.Loss[at] = later[n]
			}
		}
	}
}

// once is the one-shot policy as a cascade: after the first answer there is no state.
func once(t *costs.Tensor, lambda float64, s Settings, one *policy.Policy) *cascade.Policy {
	return staged(t, lambda, s, one, []cascade.State{{Encoding: cascade.Encoding{Dim: t.Dim}, Policy: one}})
}

func staged(t *costs.Tensor, lambda float64, s Settings, one *policy.Policy, states []cascade.State) *cascade.Policy {
	p := &cascade.Policy{Actions: t.Actions, Dim: t.Dim, Stages: s.Stages, Lambda: lambda, States: states, Rest: one}
	for _, f := range t.Facts {
		p.Facts = append(p.Facts, f.Fact)
	}
	return p
}
