package bench

import (
	"slices"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
)

// openedGroup is a sensitive group of columns and the advice that opens it.
type openedGroup struct {
	Name string
	By   []bool // per advice
}

// disclosureOf has the disclosure of the seeds of one method at one lambda: their means.
func disclosureOf(t *costs.Tensor, rows []int, seeds []replay.Decisions, lambda float64, groups []openedGroup) []report.Disclosure {
	out := make([]report.Disclosure, len(groups))
	for g, group := range groups {
		d := report.Disclosure{Method: seeds[0].Info.Method, Lambda: lambda, Group: group.Name}
		w := worth{t: t, mask: t.Actions.Mask(), lambda: lambda, group: group, depth: depths(groups, len(t.Actions.Advice))}
		var without []float64
		for _, l := range seeds {
			w.add(rows, l.Action)
			d.TrueLoss += t.TrueLoss(rows, l.Action, lambda) / float64(len(seeds))
			if loss, ok := w.closed(rows, l); ok {
				without = append(without, loss)
			}
		}
		d.Opened = float64(w.opened) / float64(len(rows)*len(seeds))
		if w.compared > 0 {
			d.Gross, d.Net = report.Num(w.gross/float64(w.compared)), report.Num(w.net/float64(w.compared))
		}
		if len(without) == len(seeds) {
			d.Without = report.Num(average(without))
		}
		out[g] = d
	}
	return out
}

// depths counts the groups that each advice opens.
func depths(groups []openedGroup, advice int) []int {
	n := make([]int, advice)
	for _, g := range groups {
		for k, opens := range g.By {
			if opens {
				n[k]++
			}
		}
	}
	return n
}

// worth sums the benefit of opening one group.
type worth struct {
	t        *costs.Tensor
	mask     []bool // available actions
	lambda   float64
	group    openedGroup
	depth    []int // groups that each advice opens
	opened   int   // rows
	compared int   // of these, rows with a level to compare with
	gross    float64
	net      float64
}

func (w *worth) add(rows, actions []int) {
	a := w.t.Actions
	for m, n := range rows {
		j, k := a.Pair(actions[m])
		if !w.group.By[k] {
			continue
		}
		w.opened++
		other := w.closest(j)
		if other < 0 {
			continue
		}
		w.compared++
		w.gross += float64(w.t.Losses(n)[other]) - float64(w.t.Losses(n)[actions[m]])
		w.net += w.t.Cost(n, other, w.lambda) - w.t.Cost(n, actions[m], w.lambda)
	}
}

// closest is the expert's pair with the deepest advice that keeps the group closed, the first on ties; -1 if the expert
// has none.
func (w *worth) closest(expert int) int {
	a, best := w.t.Actions, -1
	for k, opens := range w.group.By {
		i := a.Index(expert, k)
		if opens || !w.mask[i] {
			continue
		}
		if best < 0 || w.depth[k] > w.depth[best%len(a.Advice)] {
			best = i
		}
	}
	return best
}

// closed is the true loss of a policy that may not open the group; false if some row has no remaining pair.
func (w *worth) closed(rows []int, l replay.Decisions) (float64, bool) {
	a := w.t.Actions
	mask := make([]bool, a.Len())
	for i, available := range w.mask {
		_, k := a.Pair(i)
		mask[i] = available && !w.group.By[k]
	}
	actions := slices.Clone(l.Action)
	for m := range rows {
		if mask[actions[m]] {
			continue // its decision does not change
		}
		d := &policy.Decisions{
			Actions: a.Len(), Levels: len(a.Advice), Action: []int64{0}, Expert: []int64{0}, Advice: []int64{0},
			Scores: l.Scores[m*a.Len() : (m+1)*a.Len()],
		}
		if d.Masked(mask) != nil {
			return 0, false
		}
		actions[m] = int(d.Action[0])
	}
	return w.t.TrueLoss(rows, actions, w.lambda), true
}
