package builder

import (
	"context"
	"errors"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/storage"
)

// Estimate says what a run would ask services for, and what that would cost.
type Estimate struct {
	Pairs   []PairEstimate `json:"pairs"`             // of experts and advice, then of reformulators and the judge; empty: nothing is paid
	Total   CallEstimate   `json:"total"`             //
	Sample  int64          `json:"sample"`            // requests that were made for the estimate; their answers are kept
	Spent   float64        `json:"spent"`             // money for them
	Changes []string       `json:"changes,omitempty"` // inputs that differ from those of an earlier run, which --restart drops
	Done    bool           `json:"done,omitempty"`    // the output is finished: nothing is asked
}

// PairEstimate is the estimate for one expert under one advice, or for another part that asks.
type PairEstimate struct {
	Part   string `json:"part"`             // such as `expert "mini"`
	Advice string `json:"advice,omitempty"` // "" for a part that is not an expert
	CallEstimate
}

// CallEstimate is about some requests. Money is that of the configuration's prices.
type CallEstimate struct {
	Calls            int64    `json:"calls"`                // requests that would be made
	Kept             int64    `json:"kept"`                 // requests whose answers are kept
	PromptTokens     float64  `json:"prompt_tokens"`        // of the requests that would be made
	CompletionTokens float64  `json:"completion_tokens"`    //
	Money            float64  `json:"money"`                //
	Low              *float64 `json:"money_low,omitempty"`  // 95% interval of Money; nil: not known
	High             *float64 `json:"money_high,omitempty"` //
	Seconds          float64  `json:"seconds"`              // at the configured limits
	Observed         int      `json:"observed"`             // answers that the estimate is made of
	Unpriced         bool     `json:"unpriced,omitempty"`   // there is no price: money is 0
}

// estimateSample is how many requests are made for every expert under every advice.
const estimateSample = 20

// EstimateCalls estimates what Run would ask services for. It asks about a sample of instances, whose answers are kept as
// those of Run and stay within the budget. It needs neither trained experts nor the lock of the work folder, and writes
// nothing but answers.
func EstimateCalls(ctx context.Context, cfg part.Config, o Options) (_ *Estimate, err error) {
	defer titled(&err, "estimate costs")
	p, out, err := prepare(ctx, &cfg, &o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	e := &estimator{plan: p, report: &Estimate{Pairs: []PairEstimate{}}, progress: o.Progress}
	if e.rows, err = e.missing(ctx, out.String(), o.Restart); err != nil || e.report.Done || len(p.session.Parts()) == 0 {
		return e.report, err
	}
	e.list()
	if err := e.sample(ctx); err != nil {
		return nil, err
	}
	if err := e.rehearse(ctx); err != nil {
		return nil, err
	}
	e.figures()
	return e.report, nil
}

// estimator makes an Estimate.
type estimator struct {
	*plan
	report   *Estimate
	progress part.Progress
	rows     []int     // instances of the shards that would be made
	asks     []*asking // in the order of the report
}

// asking is one expert under one advice, or another part that asks.
type asking struct {
	part          string
	expert, level int // -1: not an expert; not advice
	requests      int // for an instance
	calls         chat.Calls
	seen          []chat.AnswerCount // one per instance of the sample
}

// missing returns the rows of the shards that a run would make.
func (e *estimator) missing(ctx context.Context, out string, restart bool) ([]int, error) {
	w := &work{out: out, folder: workFolder(out)}
	before, err := w.read()
	if err != nil && !restart {
		return nil, err
	}
	known := before != nil && !restart
	if known {
		e.report.Changes = difference(before.Inputs, e.Inputs)
		known = len(e.report.Changes) == 0
	}
	if known && before.Done != nil {
		sum, err := costs.FileDigest(ctx, storage.File(out))
		if e.report.Done = err == nil && sum == before.Done.File; e.report.Done {
			return nil, nil
		}
	}
	var rows []int
	for shard := range e.shards() {
		if !known || !w.has(ctx, e.plan, shard) {
			rows = append(rows, e.plan.rows(shard)...)
		}
	}
	return rows, nil
}

// list finds the parts that ask.
func (e *estimator) list() {
	parts := e.session.Parts()
	for j, x := range e.Experts {
		for k := range e.Levels {
			if name := part.ExpertName(x.Name); slices.Contains(parts, name) && x.Takes[k] {
				e.asks = append(e.asks, &asking{part: name, expert: j, level: k, requests: requestsOf(x)})
			}
		}
	}
	for _, name := range parts {
		isExpert := slices.ContainsFunc(e.Experts, func(x part.NamedExpert) bool { return part.ExpertName(x.Name) == name })
		if isExpert {
			continue
		}
		level := slices.IndexFunc(e.Levels, func(l part.Level) bool {
			return name == part.InputName("reformulator", part.AdviceName(l.Name))
		})
		e.asks = append(e.asks, &asking{part: name, expert: -1, level: level, requests: 1})
	}
}
