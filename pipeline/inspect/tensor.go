package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/report"
)

// tensorExplanation describes a cost tensor.
type tensorExplanation struct {
	Format       int               `json:"format"`
	Kind         string            `json:"kind"`
	File         string            `json:"file"`
	Rows         int               `json:"rows"`
	Splits       map[string]int    `json:"splits"` // rows per split
	Features     string            `json:"features,omitempty"`
	Dim          int               `json:"dim"`
	Experts      []costs.Expert    `json:"experts"`
	Advice       []costs.Advice    `json:"advice"`
	Unavailable  []string          `json:"unavailable,omitempty"`
	MeasuredFees bool              `json:"measured_fees"`
	Usage        []pairUsage       `json:"usage,omitempty"` // of the pairs of which some is known
	Propensity   *propensities     `json:"propensity,omitempty"`
	Facts        []factSummary     `json:"facts,omitempty"`
	Groups       bool              `json:"groups"`
	Time         *timeSpan         `json:"time,omitempty"`
	Unknown      *unknownOutcomes  `json:"unknown,omitempty"` // absent if every outcome is known
	Labels       bool              `json:"labels"`
	Predictions  bool              `json:"predictions"`
	Digest       string            `json:"digest"`
	Digests      map[string]string `json:"digests,omitempty"` // of the inputs it was made from
	Meta         map[string]string `json:"meta,omitempty"`
	Repeats      []costs.Repeats   `json:"repeats,omitempty"` // of the splits that have repeated rows, or copies of training rows
	Summaries    []tensorSummary   `json:"summaries"`
	Notes        []string          `json:"notes,omitempty"` // on the values of lambda

	quantities []string // columns of usage
}

// timeSpan is the first and the last time of a tensor, in UTC.
type timeSpan struct {
	First string `json:"first"`
	Last  string `json:"last"`
}

// unknownOutcomes says how much of a tensor is not known.
type unknownOutcomes struct {
	Cells    int   `json:"cells"`    // pairs of an available action and a row without an outcome
	Complete int   `json:"complete"` // rows without such a pair
	Known    []int `json:"known"`    // per action, the number of rows with an outcome
}

// tensorSummary is one split in one regime, over the rows on which every outcome is known. Costs include fees;
// unavailable pairs are null.
type tensorSummary struct {
	Split              string       `json:"split"`
	Lambda             float64      `json:"lambda"`
	Rows               int          `json:"rows"`
	TaskLoss           [][]*float64 `json:"task_loss"` // experts x advice
	Cost               [][]*float64 `json:"cost"`      // experts x advice
	BestFixed          string       `json:"best_fixed"`
	BestFixedCost      *float64     `json:"best_fixed_cost"`
	BestNoAdvice       string       `json:"best_fixed_no_advice,omitempty"`
	BestNoAdviceCost   *float64     `json:"best_fixed_no_advice_cost,omitempty"`
	OracleNoAdviceCost *float64     `json:"oracle_no_advice,omitempty"`
	OracleCost         *float64     `json:"oracle"`
	OracleAdviceRate   float64      `json:"oracle_advice_rate"`
	Headroom           *float64     `json:"headroom"` // best_fixed_cost - oracle: the most a policy could gain
}

func explainTensor(ctx context.Context, path storage.Location, o Options) (Explanation, error) {
	t, err := costs.Read(ctx, path, costs.ReadOptions{Actions: o.Actions, Unknown: true})
	if err != nil {
		return nil, err
	}
	a := t.Actions
	e := &tensorExplanation{
		Format: 1, Kind: "tensor", File: path.String(), Rows: t.Len(), Splits: map[string]int{},
		Features: a.Features.Name, Dim: t.Dim, Experts: a.Experts, Advice: a.Advice,
		Groups: t.Groups != nil, MeasuredFees: t.Fee != nil, Labels: t.Labels != nil, Predictions: t.Predictions != nil,
		Repeats: costs.RepeatsIn(t, nil, costs.Train, costs.Val, costs.Test),
		Digest:  t.Digest(), Digests: a.Digests, Meta: t.Meta,
	}
	if first, last, ok := t.TimeSpan(); ok {
		e.Time = &timeSpan{costs.TimeText(first), costs.TimeText(last)}
	}
	e.Usage, e.quantities = usageOf(t)
	e.Propensity, e.Facts = propensitiesOf(t), factsOf(t)
	e.Unknown, e.Notes = countUnknown(t), t.IdlePrices(o.Lambdas, false)
	for _, p := range a.Unavailable {
		e.Unavailable = append(e.Unavailable, a.Name(a.Index(p.Expert, p.Advice)))
	}
	for _, split := range []costs.Split{costs.Train, costs.Val, costs.Test} {
		rows := t.Rows(split)
		if len(rows) == 0 {
			continue
		}
		e.Splits[split.String()] = len(rows)
		if rows = t.CompleteRows(rows); len(rows) == 0 {
			continue
		}
		for _, lambda := range o.Lambdas {
			e.Summaries = append(e.Summaries, summarise(a, split, costs.Summarize(t, rows, lambda)))
		}
	}
	return e, nil
}

// countUnknown returns nil if all outcomes are known.
func countUnknown(t *costs.Tensor) *unknownOutcomes {
	u := &unknownOutcomes{Cells: t.UnknownCells()}
	if u.Cells == 0 {
		return nil
	}
	all := make([]int, t.Len())
	for n := range all {
		all[n] = n
	}
	u.Complete, u.Known = len(t.CompleteRows(all)), t.KnownRows(all)
	return u
}

func summarise(a *costs.Actions, split costs.Split, s costs.Summary) tensorSummary {
	out := tensorSummary{
		Split: split.String(), Lambda: s.Lambda, Rows: s.Rows, TaskLoss: grid(a, s.TaskLoss), Cost: grid(a, s.Cost),
		BestFixed: a.Name(s.Best), BestFixedCost: report.Num(s.BestCost), OracleCost: report.Num(s.Oracle),
		OracleNoAdviceCost: report.Num(s.OracleNoAdvice), OracleAdviceRate: s.OracleAdviceRate, Headroom: report.Num(s.Headroom()),
	}
	if s.BestNoAdvice >= 0 {
		out.BestNoAdvice, out.BestNoAdviceCost = a.Name(s.BestNoAdvice), report.Num(s.BestNoAdviceCost)
	}
	return out
}

// grid arranges values of actions as experts x advice; values that are not finite become nil.
func grid(a *costs.Actions, values []float64) [][]*float64 {
	rows := make([][]*float64, len(a.Experts))
	for i, v := range values {
		j, _ := a.Pair(i)
		rows[j] = append(rows[j], report.Num(v))
	}
	return rows
}

// WriteText writes the explanation for a terminal.
func (e *tensorExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "cost tensor")
	var splits []string
	for _, name := range []string{"train", "val", "test"} {
		if n := e.Splits[name]; n > 0 {
			splits = append(splits, fmt.Sprintf("%s %d", name, n))
		}
	}
	b.Add("rows", "%d (%s)", e.Rows, strings.Join(splits, ", "))
	b.Add("features", "%d%s", e.Dim, safetext.After(" from ", e.Features))
	b.Add("experts", "%s", safetext.List(e.Experts, func(x costs.Expert) string { return fmt.Sprintf("%s (fee %g)", x.Name, x.Fee) }))
	b.Add("advice", "%s", safetext.List(e.Advice, func(x costs.Advice) string { return fmt.Sprintf("%s (lambda x %g)", x.Name, x.Fee) }))
	b.Add("unavailable", "%s", strings.Join(e.Unavailable, ", "))
	b.Add("columns", "%s", e.columns())
	e.writeUsage(b)
	e.Propensity.write(b)
	e.writeFacts(b)
	if e.Time != nil {
		b.Add("time", "%s to %s", e.Time.First, e.Time.Last)
	}
	e.writeUnknown(b)
	heading := "repeats"
	for _, note := range costs.RepeatNotes(e.Repeats) {
		b.Add(heading, "%s", note)
		heading = ""
	}
	b.Add("digest", "%s", e.Digest)
	b.AddPairs("made from", e.Digests)
	b.AddPairs("metadata", e.Meta)
	for _, s := range e.Summaries {
		e.writeSummary(b, s)
	}
	for _, note := range e.Notes {
		b.Add("note", "%s", note)
	}
	return b.WriteText(w)
}

func (e *tensorExplanation) columns() string {
	names := []string{"id", "split", "features", "loss"}
	for _, c := range []struct {
		name string
		is   bool
	}{{"group", e.Groups}, {"time", e.Time != nil}, {"fee", e.MeasuredFees}, {"label", e.Labels}, {"propensity", e.Propensity != nil}, {"prediction", e.Predictions}} {
		if c.is {
			names = append(names, c.name)
		}
	}
	names = append(names, e.quantities...)
	for _, f := range e.Facts {
		names = append(names, costs.FactPrefix+f.Name)
	}
	return strings.Join(names, ", ")
}

// writeUnknown names the pairs that have unknown outcomes, at most ten.
func (e *tensorExplanation) writeUnknown(b *safetext.Fields) {
	if e.Unknown == nil {
		return
	}
	b.Add("unknown outcomes", "%d; the outcomes of all pairs are known on %d of %d rows, and only these are summarised below", e.Unknown.Cells, e.Unknown.Complete, e.Rows)
	var short []string
	a := costs.Actions{Experts: e.Experts, Advice: e.Advice}
	for i, n := range e.Unknown.Known {
		if n < e.Rows && !slices.Contains(e.Unavailable, a.Name(i)) {
			short = append(short, fmt.Sprintf("%s %d", a.Name(i), n))
		}
	}
	if more := len(short) - 10; more > 0 {
		short = append(short[:10], fmt.Sprintf("and %d more pairs", more))
	}
	b.Add("  known rows", "%s", strings.Join(short, ", "))
}

func (e *tensorExplanation) writeSummary(b *safetext.Fields, s tensorSummary) {
	fmt.Fprintf(b, "\n  %s, lambda %g: mean cost of every pair over %d rows\n", s.Split, s.Lambda, s.Rows)
	c := report.CellTable{TrueLoss: s.Cost}
	for _, x := range e.Experts {
		c.Experts = append(c.Experts, x.Name)
	}
	for _, x := range e.Advice {
		c.Advice = append(c.Advice, x.Name)
	}
	for line := range strings.Lines(c.Text()) {
		b.WriteString("  " + line)
	}
	b.Add("  best fixed", "%s at %s", s.BestFixed, report.PlusMinus(s.BestFixedCost, nil))
	if s.BestNoAdvice != "" {
		b.Add("  without advice", "%s at %s", s.BestNoAdvice, report.PlusMinus(s.BestNoAdviceCost, nil))
		b.Add("  oracle", "%s (without advice %s), buys advice on %.1f%% of rows", report.PlusMinus(s.OracleCost, nil), report.PlusMinus(s.OracleNoAdviceCost, nil), 100*s.OracleAdviceRate)
	} else {
		b.Add("  oracle", "%s, buys advice on %.1f%% of rows", report.PlusMinus(s.OracleCost, nil), 100*s.OracleAdviceRate)
	}
	b.Add("  head-room", "%s is the most that a policy could gain over the best fixed pair", report.PlusMinus(s.Headroom, nil))
}
