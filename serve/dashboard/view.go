package dashboard

import (
	"fmt"
	"strings"

	"pipe/pipeline/report/page"
	"pipe/serve/budget"
)

// Short forms for cells.
func word(s string) page.Cell { return page.Cell{Text: s, Word: true} }
func name(s string) page.Cell { return page.Cell{Text: s, Word: true, Row: true} }
func cell(s string) page.Cell { return page.Cell{Text: s} }
func long(s string) page.Cell { return page.Cell{Text: s, Word: true, Long: true} }

func head(names ...string) []page.Cell {
	cells := make([]page.Cell, len(names))
	for i, n := range names {
		cells[i] = page.Cell{Text: strings.TrimPrefix(n, "<"), Word: i == 0 || strings.HasPrefix(n, "<")} // a name with the prefix < is aligned to the left
	}
	return cells
}

// sections returns the sections with figures, in order.
func (v *view) sections() []page.Section {
	all := []page.Section{v.traffic()}
	if v.state.Traffic.TotalDecisions == 0 || v.policy == nil {
		all = append(all, v.served())
		return append(all, v.operation()...)
	}
	all = append(all, v.pairs(), v.costs(), v.served(), v.latency())
	return append(all, v.operation()...)
}

// view is one state of the server, as the page shows it.
type view struct {
	state    *State
	policy   *PolicyState // the version whose figures are shown; nil: none has decided
	loaded   []Loaded
	breakers []Breaker
	log      *LogState
	monitor  []MonitorState
	patience []PatienceState
	keys     bool

	candidates  []CandidateState
	exploration *ExplorationState // nil: nothing is explored
	budgets     []budget.State
	sessions    *SessionsState // nil: there are none
}

func (v *view) window() string {
	if v.state.Minutes == 1 {
		return "the last minute"
	}
	return fmt.Sprintf("the last %d minutes", v.state.Minutes)
}

func (v *view) traffic() page.Section {
	t := &v.state.Traffic
	terms := []page.Term{
		{Name: "requests", About: fmt.Sprintf("%s in %s, %s since the start", whole(t.Requests), v.window(), whole(t.TotalRequests))},
		{Name: "decisions", About: fmt.Sprintf("%s in %s, %s since the start; %s a second now", whole(t.Decisions), v.window(), whole(t.TotalDecisions), rate(t.DecisionsPerSecond))},
		{Name: "refused", About: countWas(t.Refused, "request") + " answered with 400 to 499"},
		{Name: "failed", About: countWas(t.Failed, "request") + " answered with 500 or above"},
	}
	return page.Section{ID: "traffic", Title: "Traffic", Blocks: []page.Block{
		{Figure: trafficChart(t, v.state.Minutes, "Refused requests were answered with 400 to 499, failed ones with 500 or above. A request can ask for several decisions.")},
		{Terms: terms},
	}}
}

func (v *view) pairs() page.Section {
	p := v.policy
	executed, outcomes := false, false
	for _, pair := range p.Pairs {
		executed, outcomes = executed || pair.Executed > 0, outcomes || pair.Outcomes > 0
	}
	columns := []string{"pair", "<share", "decisions"}
	if executed {
		columns = append(columns, "answered")
	}
	if outcomes {
		columns = append(columns, "outcomes", "mean loss")
	}
	t := &page.Table{Head: head(columns...), Caption: fmt.Sprintf("%s of %s in %s.", plural(p.Decisions, "decision"), v.policyName(), v.window())}
	never := 0
	for _, pair := range byShare(p.Pairs) {
		if pair.Chosen == 0 && pair.Executed == 0 && pair.Outcomes == 0 {
			never++
			continue
		}
		row := []page.Cell{name(pair.Pair), {Text: percent(pair.Share), Word: true, Bar: page.Bar(pair.Share)}, cell(whole(pair.Chosen))}
		if executed {
			row = append(row, cell(whole(pair.Executed)))
		}
		if outcomes {
			row = append(row, cell(whole(pair.Outcomes)), cell(costOr(pair.Loss)))
		}
		t.Rows = append(t.Rows, row)
	}
	if never > 0 {
		t.Caption += fmt.Sprintf(" %s never chosen.", countWas(int64(never), "other pair"))
	}
	section := page.Section{ID: "pairs", Title: "Share of pairs", Blocks: []page.Block{{Table: t}}}
	if len(t.Rows) == 0 {
		section.Blocks = []page.Block{{List: []string{fmt.Sprintf("No decision of %s in %s.", v.policyName(), v.window())}}}
	}
	if list := v.specialDecisions(); len(list) > 0 {
		section.Blocks = append(section.Blocks, page.Block{List: list})
	}
	return section
}

// countWas formats a count with its noun and was or were.
func countWas(n int64, noun string) string {
	if n == 1 {
		return plural(n, noun) + " was"
	}
	return plural(n, noun) + " were"
}

// specialDecisions returns sentences about decisions that are not the policy's choice at the prices of its file.
func (v *view) specialDecisions() (list []string) {
	p := v.policy
	add := func(n int64, what string) {
		if n > 0 {
			verb := " were "
			if n == 1 {
				verb = " was "
			}
			list = append(list, plural(n, "decision")+" ("+percent(share(n, p.Decisions))+")"+verb+what)
		}
	}
	add(p.Explored, "drawn to explore, and another pair than the policy's.")
	add(p.Guarded, "the best fixed pair's, because the guard exported it in place of the learned policy.")
	add(p.Canary, "made as a canary.")
	add(p.OtherPrices, "made at other prices than those of the file.")
	add(p.FellBack, "answered by another pair than the chosen one, after a failure.")
	if p.Failed > 0 {
		list = append(list, plural(p.Failed, "decision")+" could not be served.")
	}
	return list
}

func share(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func (v *view) policyName() string { return v.policy.Name + "@" + shortDigest(v.policy.Digest) }

func (v *view) costs() page.Section {
	c := &v.policy.Costs
	t := &page.Table{Title: "Expected and measured", Head: head("of the chosen pairs", "mean per decision [95% interval]", "decisions")}
	add := func(label string, n int64, text string) {
		t.Rows = append(t.Rows, []page.Cell{name(label), cell(text), cell(whole(n))})
	}
	if c.ExpectedCost != nil {
		add("expected loss", c.Priced, costOr(c.ExpectedLoss))
		add("expected cost", c.Priced, costOr(c.ExpectedCost))
	}
	if c.Exploring != nil {
		add("of it for exploring", c.Priced, costOr(c.Exploring))
	}
	if c.Outcomes > 0 {
		add("measured loss", c.Outcomes, costOr(c.MeasuredLoss))
		add("measured cost", c.Outcomes, interval(c.MeasuredCost))
	}
	if c.Residual != nil {
		add("measured minus expected cost", c.Residual.N, interval(c.Residual))
	}
	if c.Fee != nil {
		add("measured fee of a call, in money", c.Fee.N, interval(c.Fee))
	}
	t.Caption = "A cost is a task loss plus the fees of the prices of the decision. Expectations are those of the policy, of the decisions in the window; outcomes are those that came in the window. " + intervalNote
	blocks := []page.Block{{Table: t}}
	if len(t.Rows) == 0 {
		blocks = []page.Block{{List: []string{"This policy states no expected costs, and no outcome has come. Send outcomes to /v1/outcomes to see measured costs here."}}}
	}
	blocks = append(blocks, v.saving()...)
	if list := v.outcomeNotes(); len(list) > 0 {
		blocks = append(blocks, page.Block{List: list})
	}
	return page.Section{ID: "costs", Title: "Cost and saving", Blocks: blocks}
}

// intervalNote explains the intervals of a table.
const intervalNote = "Intervals may be looked at at any time: they are asymptotic confidence sequences. Below 100 rows, or as many weighted ones that say as much, none is shown."

// saving compares the decisions with fixed pairs.
func (v *view) saving() []page.Block {
	if len(v.policy.Savings) == 0 {
		return nil
	}
	t := &page.Table{
		Title: "Saving against one pair for all decisions", Head: head("always this pair", "saving per decision [95% interval]", "decisions", "<which is the best", "<costs are of"),
		Caption: "Expectations are the policy's own, and flatter it: it takes the pair that it believes to be cheapest. Outcomes are weighted by the inverse probability with which the pair was chosen, which is exact in the log; they need exploration. " + intervalNote,
	}
	for i := range v.policy.Savings {
		s := &v.policy.Savings[i]
		which, by := "in this window, as is known afterwards", "expectations"
		if s.Chosen == fromGuard {
			which = "on the training rows, by the guard"
		}
		if s.By == byOutcomes {
			by = fmt.Sprintf("outcomes, %s of them of this pair: %s, %s effective rows", whole(s.Hits), s.Estimator, whole(int64(s.Effective)))
			if s.Uncovered > 0 {
				by += fmt.Sprintf("; %s left out, which could not have chosen it", whole(s.Uncovered))
			}
		}
		if s.Masked > 0 {
			by += fmt.Sprintf("; %s left out, for which it was not available", whole(s.Masked))
		}
		t.Rows = append(t.Rows, []page.Cell{name(s.Against), {Text: interval(&s.Mean), Bold: s.Low != nil && *s.Low > 0}, cell(whole(s.N)), word(which), word(by)})
	}
	return []page.Block{{Table: t}}
}

// outcomeNotes returns sentences about outcomes that are left out or not known.
func (v *view) outcomeNotes() (list []string) {
	if c := &v.policy.Costs; c.MeasuredFees && c.Outcomes > 0 {
		list = append(list, "What this policy expects includes measured fees, and outcomes are task losses without them. So measured costs, and savings by outcomes, are not known.")
	}
	if v.state.Unmatched > 0 {
		list = append(list, fmt.Sprintf("%s came for decisions that this page does not remember. The log joins them.", plural(v.state.Unmatched, "outcome")))
	}
	if v.policy.KeepPart < 1 {
		list = append(list, fmt.Sprintf("This page remembers %s of the decisions, drawn by their ids, to join them with outcomes.", percent(v.policy.KeepPart)))
	}
	if v.policy.Costs.Unused > 0 {
		list = append(list, fmt.Sprintf("%s of a fallback: they count as measured, and are not compared with other pairs.", plural(v.policy.Costs.Unused, "outcome")+" "+isOrAre(v.policy.Costs.Unused)))
	}
	return list
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (v *view) latency() page.Section {
	t := &page.Table{Head: head("stage", "times", "mean", "median", "90%", "99%"), Caption: "Quantiles are within 6%."}
	for _, s := range v.policy.Stages {
		t.Rows = append(t.Rows, []page.Cell{name(s.Stage), cell(whole(s.N)), cell(seconds(s.Mean)), cell(seconds(s.P50)), cell(seconds(s.P90)), cell(seconds(s.P99))})
	}
	return page.Section{ID: "latency", Title: "Latency by stage", Blocks: []page.Block{{Table: t}}}
}
