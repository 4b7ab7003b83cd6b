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
	p      pricing
	s      Settings
	o      models.Options
	prefix string // of stages that are announced
	folder string // of checkpoints, below that of the options

	pairs   []int     // that may be executed after another
	allowed []bool    // the same, by pair
	columns []float32 // what is seen, rows x A*F
	// By state that was learned: what every row cost from there on at the first prices, NaN where it is not known, and its next action, -1
	// where it is not known.
	cost   map[string][]float32
	action map[string][]int
}

func newLearner(t *costs.Tensor, groups []string, p pricing, s Settings, o models.Options) *learner {
	l := &learner{t: t, groups: groups, p: p, s: s, o: o, folder: "all", cost: make(map[string][]float32), action: make(map[string][]int)}
	l.pairs = promising(t, p.at[0].prices.Lambda, s)
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
	return l.auto(ctx, l.t, l.p.lambda, nil, "one-shot", "one-shot", l.s.Auto)
}

// auto is the recipe: for lambda, or for all prices of the range, compared at some or at those of auto. Its checkpoints are in a folder.
func (l *learner) auto(ctx context.Context, t *costs.Tensor, lambda float64, at []auto.Point, name, folder string, s auto.Settings) (*policy.Policy, auto.Report, error) {
	o := l.o
	if o.Save.Dir != "" {
		o.Save.Dir = filepath.Join(o.Save.Dir, l.folder, folder)
	}
	if say := o.Stage; say != nil {
		o.Stage = func(stage string, steps int) { say(l.prefix+name+": "+stage, steps) }
	}
	p, r, err := l.recipe(ctx, t, lambda, at, s, o)
	if err != nil {
		return nil, auto.Report{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, r, nil
}

func (l *learner) recipe(ctx context.Context, t *costs.Tensor, lambda float64, at []auto.Point, s auto.Settings, o models.Options) (*policy.Policy, auto.Report, error) {
	switch {
	case l.p.any == nil:
		policies, reports, err := auto.Train(ctx, t, []float64{lambda}, s, o)
		if err != nil {
			return nil, auto.Report{}, err
		}
		return policies[0], reports[0], nil
	case at == nil:
		return auto.TrainAnyPrice(ctx, t, *l.p.any, s, o)
	default:
		return auto.TrainAt(ctx, t, *l.p.any, at, s, o)
	}
}

// states learns every state, the largest first, and returns them with the empty one first.
func (l *learner) states(ctx context.Context) (out []cascade.State, reports []StateReport, err error) {
	for size := l.stages(); size >= 0; size-- {
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

// stages is how many pairs can be executed on a row.
func (l *learner) stages() int { return min(l.s.Stages, len(l.pairs)) }

// state learns one state, and what rows cost from there on.
func (l *learner) state(ctx context.Context, executed []int) (cascade.State, StateReport, error) {
	t, e := l.table(executed)
	state := cascade.State{Executed: executed, Encoding: e}
	if l.p.any != nil && len(executed) < l.stages()-1 {
		state.Later = l.later(executed)
	}
	s := l.s.Auto
	apart := true                                             // groups say it
	s.Apart, s.Narrow, s.CrossFit = &apart, true, math.MaxInt // every row needs a decision by what others learned
	folder := "state"
	for _, i := range executed {
		folder += fmt.Sprintf("-%d", i)
	}
	at := points(l.p.at, executed)
	if state.Later != nil { // what rows cost is known at the first prices only; what is no better than a fixed pair there may be so at others
		at, s.KeepEstimates = at[:1], true
	}
	p, r, err := l.auto(ctx, t, 1, at, l.name(executed), folder, s)
	if err != nil {
		return state, StateReport{}, err
	}
	if state.Policy = p; state.Later != nil {
		p.Estimate.Margin = r.Margin
	}
	l.keep(t, executed, at[0].Fees, r)
	names := t.Actions.Names() // those of the table are shorter
	r.Guard.Fixed = l.t.Actions.Name(slices.Index(names, r.Guard.Fixed))
	for i, at := range r.Guard.Prices {
		r.Guard.Prices[i].Fixed = l.t.Actions.Name(slices.Index(names, at.Fixed))
	}
	return state, l.report(executed, r), nil
}

// keep keeps the decisions of other folds at the first prices.
func (l *learner) keep(t *costs.Tensor, executed []int, fees []float64, r auto.Report) {
	cost, action := slices.Repeat([]float32{float32(math.NaN())}, t.Len()), slices.Repeat([]int{-1}, t.Len())
	if len(r.Held) > 0 {
		for _, d := range r.Held[0] {
			cost[d.Row] = float32(float64(t.Losses(d.Row)[d.Action]) + t.MeasuredFee(d.Row, d.Action) + fees[d.Action])
			action[d.Row] = d.Action
		}
	}
	key := fmt.Sprint(executed)
	l.cost[key], l.action[key] = cost, action
}

// later are the shares of the rows on which pairs are executed later, after each that a state executes next: A x A. Rows of which that is
// not known do not count.
func (l *learner) later(executed []int) []float64 {
	pairs, mask := l.t.Actions.Len(), l.t.Actions.Mask()
	out := make([]float64, pairs*pairs)
	for first := range pairs {
		if slices.Contains(executed, first) || !mask[first] {
			continue
		}
		rows, shares := 0.0, out[first*pairs:(first+1)*pairs]
		for n := range l.t.Len() {
			path, known := l.path(with(executed, first), n)
			if !known {
				continue
			}
			rows++
			for _, i := range path {
				shares[i]++
			}
		}
		for i := range shares {
			shares[i] /= max(1, rows)
		}
	}
	return out
}

// path are the pairs that are executed on a row from a state on, by what other folds learned; false if that is not known.
func (l *learner) path(executed []int, row int) (pairs []int, known bool) {
	for {
		next := l.action[fmt.Sprint(executed)]
		if next == nil {
			return pairs, true
		}
		switch i := next[row]; {
		case i < 0:
			return nil, false
		case slices.Contains(executed, i):
			return pairs, true
		default:
			pairs, executed = append(pairs, i), with(executed, i)
		}
	}
}

// report is about a state.
func (l *learner) report(executed []int, r auto.Report) StateReport {
	report := StateReport{Executed: []string{}, Guard: r.Guard, Members: r.Members}
	if len(r.Held) > 0 {
		report.Rows = len(r.Held[0])
	}
	for _, i := range executed {
		report.Executed = append(report.Executed, l.t.Actions.Name(i))
	}
	return report
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
	at := l.p.at[0].prices
	t := &costs.Tensor{
		IDs: l.t.IDs, Splits: l.t.Splits, Groups: l.groups, Times: l.t.Times, Dim: e.Width(),
		Actions: cascade.PairActions(at.In(l.t.Actions), at.Lambda, executed, l.next(executed), e.Width()),
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
func once(t *costs.Tensor, p pricing, s Settings, one *policy.Policy) *cascade.Policy {
	return staged(t, p, s, one, []cascade.State{{Encoding: cascade.Encoding{Dim: t.Dim}, Policy: one}})
}

func staged(t *costs.Tensor, of pricing, s Settings, one *policy.Policy, states []cascade.State) *cascade.Policy {
	p := &cascade.Policy{Actions: t.Actions, Dim: t.Dim, Stages: s.Stages, Lambda: of.lambda, Prices: of.any, States: states, Rest: one}
	if of.any != nil {
		p.Range = spread(t)
	}
	for _, f := range t.Facts {
		p.Facts = append(p.Facts, f.Fact)
	}
	return p
}
