package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/internal/lists"
	"pipe/models/auto"
	"pipe/models/baseline"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// report has the sum over tables, then every table.
func (r *tablesRun) report() (*report.Report, error) {
	rep := &report.Report{
		Benchmark: r.name,
		Title:     fmt.Sprintf("Tables: policies and simple peers on %s", strings.Join(lists.Each(r.results, func(t *tableResults) string { return t.name }), ", ")),
		Settings: map[string]string{
			"splits": fmt.Sprint(r.c.Splits), "held out": fmt.Sprint(r.c.HeldOut), "seed": fmt.Sprint(r.c.Seed),
			"auto": stage.JSON(autoSettings(r.c)), "paper": stage.JSON(r.c.Train.Paper),
		},
		Notes: r.explained(),
	}
	var tables [][]report.Row
	for _, t := range r.results {
		rows, err := t.rows(r.c)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		tables = append(tables, rows)
	}
	if len(tables) > 1 {
		rep.Join(fmt.Sprintf("sum of %d tables", len(tables)), &report.Report{Rows: sumOverTables(tables)})
	}
	for i, t := range r.results {
		rep.Join(t.name, &report.Report{Rows: tables[i]})
	}
	return rep, nil
}

// explained says how the figures are computed, and what was left out.
func (r *tablesRun) explained() []string {
	notes := []string{
		fmt.Sprintf("Every split holds out %.3g%% of the rows of a table, drawn anew; rows that belong together stay on one side: those of one group, and those with the same features unless their losses show different instances%s. "+
			"True loss is the mean over all held-out rows of all splits. Its standard error is over splits, as if they were independent: they share rows, "+
			"so it is a little too small.", 100*r.c.HeldOut, r.apart()),
		"gap: the share of the way from best_fixed_train (0%) to the oracle (100%).",
		"s per split: the time to learn from the training rows and to decide the held-out rows of one split, by the clock of a machine that may have had other work.",
	}
	if r.c.runs(auto.Name) {
		notes = append(notes, "vs auto: this method minus auto, paired by row and split. A row is held out in several splits, and rows can belong together, so all "+
			"differences of such rows, in all splits, count as one: the 95% interval is from leaving out one such set at a time. It says how the figure varies "+
			"with the rows that are decided. It does not count that other training rows would give other policies, beyond the splits drawn here.")
	}
	if len(r.results) > 1 {
		notes = append(notes, "The sum has the methods that ran on every table. Tables are independent, so the squares of their errors add.")
	}
	return append(notes, r.leftOut()...)
}

// apart names the tables on which rows with the same features are different instances.
func (r *tablesRun) apart() string {
	tables := lists.Keep(r.c.Tables, func(t tableConfig) bool { return t.Apart != nil && *t.Apart })
	if len(tables) == 0 {
		return ""
	}
	return fmt.Sprintf(" (on %s, whose features have few values, only the same group)", strings.Join(lists.Each(tables, func(t tableConfig) string { return t.Name }), ", "))
}

// leftOut is a note per method and reason.
func (r *tablesRun) leftOut() []string {
	type cause struct{ method, reason string }
	var order []cause
	on := map[cause][]string{}
	for _, t := range r.results {
		for _, m := range tableMethods() {
			reason, left := t.left[m.name]
			if c := (cause{m.name, reason}); left {
				if on[c] == nil {
					order = append(order, c)
				}
				on[c] = append(on[c], t.name)
			}
		}
	}
	return lists.Each(order, func(c cause) string {
		return fmt.Sprintf("%s is left out on %s: %s", c.method, strings.Join(on[c], ", "), c.reason)
	})
}

// rows are the methods that decided every split of a table.
func (t *tableResults) rows(c *tablesConfig) ([]report.Row, error) {
	costs := map[string]heldCosts{}
	var held [][]int
	train := 0
	for _, x := range t.splits {
		held = append(held, x.held)
		train += len(x.train)
		for name, d := range x.decided {
			costs[name] = append(costs[name], x.costsOf(d))
		}
	}
	var out []report.Row
	for _, m := range c.methods() {
		if _, left := t.left[m.name]; left {
			continue
		}
		row := report.Row{
			Method: m.name, Lambda: report.Num(c.Lambda), N: int(math.Round(float64(train) / float64(len(t.splits)))), Splits: len(t.splits),
			TrueLossMean: costs[m.name].mean(), TrueLossSE: costs[m.name].standardError(),
			GapShare: gapShare(costs[m.name].mean(), costs[baseline.BestFixedTrain].mean(), costs[oracle].mean()),
		}
		if reference := costs[auto.Name]; len(reference) == len(held) && m.name != auto.Name {
			var err error
			if row.DiffAuto, err = pairedInterval(costs[m.name], reference, held, t.together); err != nil {
				return nil, err
			}
		}
		t.describe(&row)
		out = append(out, row)
	}
	return out, nil
}

// describe adds what the decisions were.
func (t *tableResults) describe(row *report.Row) {
	var seconds []*float64
	advice := 0.0
	for _, x := range t.splits {
		d := x.decided[row.Method]
		seconds = append(seconds, d.seconds)
		advice += x.adviceRate(d) / float64(len(t.splits))
		row.Seeds = len(d.Runs)
		for _, pair := range d.Fallback {
			if row.Fallback == nil {
				row.Fallback = map[string]int{}
			}
			row.Fallback[pair]++
		}
	}
	row.Seconds = averageOf(seconds)
	if actions := t.splits[0].t.Actions; len(actions.Advice) > 1 {
		row.AdviceRate = report.Num(advice)
	}
	if row.Method == baseline.BestFixedTrain {
		row.Pair = t.constant()
	}
}

// constant is the pair of best_fixed_train if it is the same on every split, else "".
func (t *tableResults) constant() string {
	first := t.splits[0].decided[baseline.BestFixedTrain].Runs[0][0]
	for _, x := range t.splits {
		if x.decided[baseline.BestFixedTrain].Runs[0][0] != first {
			return ""
		}
	}
	return t.splits[0].t.Actions.Name(first)
}

// sumOverTables adds the rows of the methods that all tables have.
func sumOverTables(tables [][]report.Row) []report.Row {
	var out []report.Row
	for _, first := range tables[0] {
		var rows []report.Row
		for _, table := range tables {
			if i := slices.IndexFunc(table, func(r report.Row) bool { return r.Method == first.Method }); i >= 0 {
				rows = append(rows, table[i])
			}
		}
		if len(rows) == len(tables) {
			out = append(out, sumRows(rows))
		}
	}
	loss := func(method string) float64 {
		return out[slices.IndexFunc(out, func(r report.Row) bool { return r.Method == method })].TrueLossMean
	}
	for i := range out {
		out[i].GapShare = gapShare(out[i].TrueLossMean, loss(baseline.BestFixedTrain), loss(oracle))
	}
	return out
}
