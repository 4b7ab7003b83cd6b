package costing

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/internal/safetext"
	"pipe/pipeline/stage"
)

// Estimate is what pipe costs --dry-run prints: what a run would ask services for, and what that would cost.
type Estimate struct {
	builder.Estimate
	Budget float64 `json:"budget,omitempty"` // 0: none
	Enough string  `json:"enough,omitempty"` // whether the rest of the budget is: yes, perhaps or no
}

// DryRun estimates the money and the time of Run with the same options. For that it asks about a sample of
// instances: at most 20 requests for every expert under every advice, whose answers are kept.
func DryRun(ctx context.Context, o Options, progress stage.Progress) (*Estimate, error) {
	r := &Estimate{}
	err := o.build(ctx, stage.OrQuiet(progress), func(cfg part.Config, b builder.Options) error {
		e, err := builder.EstimateCalls(ctx, cfg, b)
		if err == nil {
			r.Estimate = *e
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if o.Budget != nil {
		r.Budget = o.Budget.Limit()
		r.Enough = r.enough()
	}
	return r, nil
}

// enough compares the rest of the budget with what the run would spend after the sample.
func (r *Estimate) enough() string {
	t, left := &r.Total, r.Budget-r.Spent
	switch {
	case t.High != nil && *t.High <= left:
		return "yes"
	case t.Low != nil && *t.Low > left:
		return "no"
	}
	return "perhaps"
}

// WriteText writes the estimate for a reader at a terminal.
func (r *Estimate) WriteText(w io.Writer) error {
	if len(r.Changes) > 0 {
		fmt.Fprintf(w, "the inputs have changed since an earlier run (%d changes): a run needs --restart, which this estimate assumes\n", len(r.Changes))
	}
	switch {
	case r.Done:
		_, err := fmt.Fprintln(w, "the output is finished: a run asks nothing, and nothing is paid")
		return err
	case len(r.Pairs) == 0:
		_, err := fmt.Fprintln(w, "no part asks a service: nothing is paid")
		return err
	}
	fmt.Fprintf(w, "sample: %d requests, %s spent; their answers are kept\n\n", r.Sample, money(r.Spent))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "requests\tkept\ttokens in\ttokens out\tmoney\t95% interval\ttime\t  part")
	for _, p := range r.Pairs {
		name := p.Part
		if p.Advice != "" {
			name += ", " + part.AdviceName(p.Advice)
		}
		writeCalls(tab, &p.CallEstimate, safetext.Line(name))
	}
	writeCalls(tab, &r.Total, "total")
	if err := tab.Flush(); err != nil {
		return err
	}
	if r.Total.Unpriced {
		fmt.Fprintln(w, "\na part without a price counts as free: set price to the service's prices")
	}
	return r.writeBudget(w)
}

// writeBudget writes whether the budget is enough.
func (r *Estimate) writeBudget(w io.Writer) error {
	words := map[string]string{"yes": "is enough", "perhaps": "may not be enough", "no": "is not enough"}
	if r.Enough == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nbudget: %s, of which %s is left: it %s\n", money(r.Budget), money(math.Max(0, r.Budget-r.Spent)), words[r.Enough])
	return err
}

func writeCalls(w io.Writer, c *builder.CallEstimate, name string) {
	interval := "not known"
	if c.Low != nil {
		interval = money(*c.Low) + " to " + money(*c.High)
	}
	fmt.Fprintf(w, "%d\t%d\t%.0f\t%.0f\t%s\t%s\t%s\t  %s\n", c.Calls, c.Kept, c.PromptTokens, c.CompletionTokens, money(c.Money), interval,
		time.Duration(math.Min(c.Seconds, 1e9)*float64(time.Second)).Round(time.Second), name)
}

// money writes an amount with four digits.
func money(v float64) string { return fmt.Sprintf("%.4g", v) }
