package decision

import (
	"context"
	"fmt"
	"math"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// fill sets the inputs from the conversation of a request, and checks that the policy takes inputs of that kind.
func (d *Decider) fill(r *Request, p *policies.Policy) (err error) {
	if r.Conversation != nil {
		if r.Inputs, err = d.see(r.Conversation, p); err != nil {
			return err
		}
	}
	given := ""
	for kind, is := range map[string]bool{
		decide.InputText: r.Inputs.Texts != nil, decide.InputImage: r.Inputs.Images != nil, decide.InputRow: r.Inputs.Rows != nil,
	} {
		if is {
			given = kind
		}
	}
	if given != "" && given != p.Input() {
		return &InputError{given, fmt.Sprintf("policy %q takes %s, not %s", p.Name, inputWords[p.Input()], inputWords[given])}
	}
	return nil
}

// see is what a policy sees of a conversation.
func (d *Decider) see(m Messages, p *policies.Policy) (policies.Inputs, error) {
	switch p.Input() {
	case decide.InputText:
		text, err := m.Text(d.settings.Prompt)
		return policies.Inputs{Texts: []string{text}}, err
	case decide.InputImage:
		file, err := m.Image()
		return policies.Inputs{Images: [][]byte{file}}, err
	}
	return policies.Inputs{}, &InputError{"messages", fmt.Sprintf("policy %q takes %s, not messages: its encoder is not loaded", p.Name, inputWords[p.Input()])}
}

// Sees reports whether a conversation has something that a policy can decide on; else [Request.FixedPair] may be taken.
func (d *Decider) Sees(m Messages, p *policies.Policy) bool {
	_, err := d.see(m, p)
	return err == nil
}

// Features leases the policy that a request names, whatever its canary, and computes the features of its rows, n x Info().Dim. The
// caller releases the policy. The errors are those of [Decider.Decide].
func (d *Decider) Features(ctx context.Context, r Request) (p *policies.Policy, features []float32, err error) {
	if p, err = d.set.Acquire(r.Policy); err != nil {
		return nil, nil, err
	}
	if err = d.fill(&r, p); err == nil {
		features, err = p.Encode(ctx, r.Inputs)
	}
	if dim := p.Info().Dim; err == nil && len(features)%dim != 0 {
		err = &InputError{"features", wrongFeatures(len(features), dim)}
	}
	if err != nil {
		p.Release()
		return nil, nil, err
	}
	return p, features, nil
}

// inputWords are the names of inputs in messages.
var inputWords = map[string]string{
	decide.InputFeatures: "features", decide.InputRow: "rows of raw columns", decide.InputText: "texts", decide.InputImage: "images",
}

func wrongFeatures(n, dim int) string {
	return fmt.Sprintf("there are %d features, but the policy takes %d per row", n, dim)
}

// record makes the records of a result, and explores.
func (d *Decider) record(res *Result, now time.Time, stages decisionlog.Stages) error {
	u, dec := res.used, res.Decisions
	n, pairs := len(dec.Action), dec.Actions
	if res.request.ID == "" {
		res.request.ID = decisionlog.NewID()
	}
	if dec.Loss != nil {
		u.version.fixed.add(dec.Loss, &dec.Usage)
	}
	explore := d.settings.Explore
	if res.request.NoExplore {
		explore = Explore{}
	}
	slab := make([]decisionlog.Record, n)
	res.Records = make([]*decisionlog.Record, n)
	usagePrices := decisionlog.FlatPrices(u.prices.Usage, len(u.prices.Experts))
	user := d.userHash(res.request.User)
	for i := range slab {
		first, end := i*pairs, (i+1)*pairs
		greedy := int(dec.Action[i])
		slab[i] = decisionlog.Record{
			Time: now.UnixMicro(), ID: decisionlog.NewID(), Request: res.request.ID, Source: res.request.Source,
			Client: res.request.Client, User: user, Policy: u.policy.Name, Digest: u.policy.Digest, Canary: u.canary, Share: u.share,
			Lambda: u.prices.Lambda, ExpertFees: u.prices.Experts, AdviceFees: u.prices.Advice, PairFees: u.prices.Pairs,
			UsagePrices: usagePrices, Available: u.prices.Available, Features: res.row(i), Action: greedy, Greedy: greedy,
			Guarded: u.version.guarded, Keep: 1, Executed: -1, Stages: stages,
		}
		r := &slab[i]
		if dec.Loss != nil {
			r.ExpectedLoss, r.ExpectedCost = dec.Loss[first:end:end], dec.Cost[first:end:end]
		}
		own, other := d.explore(explore, res, i)
		r.Propensity = own.p
		if own.ok {
			r.Action = draw(r.Propensity, d.source.draw())
		}
		if res.other != nil {
			r.OwnPropensity = r.Propensity
			r.Propensity = u.mixture(r.Propensity, other.p)
		}
		if u.policy.Cascade() != nil && r.Source != SourceChat {
			r.Cascade = firstStage(r)
		}
		res.Records[i] = r
		if accepted, instead := res.Accepted(i); instead != nil {
			res.Settle(i, accepted)
		}
	}
	return nil
}

// firstStage is what is known of a cascade whose pairs the caller executes: the first one. What it said, and which pairs came next, is not
// known here, and the outcome is that of the answer that was accepted in the end.
func firstStage(r *decisionlog.Record) []decisionlog.CascadeStage {
	none := math.NaN()
	first := decisionlog.CascadeStage{Action: r.Action, Propensity: none, Fee: none, In: none, Cached: none, Out: none}
	if r.Share == 0 {
		first.Propensity = r.Propensity[r.Action]
	}
	return []decisionlog.CascadeStage{first}
}

// mixture returns the propensities of a policy and its canary together. own are those of the policy that was drawn.
func (u used) mixture(own, other []float64) []float64 {
	weight := 1 - u.share
	if u.canary {
		weight = u.share
	}
	p := make([]float64, len(own))
	for i := range p {
		p[i] = other[i] + weight*(own[i]-other[i])
	}
	return p
}

// decideOther lets the policy that was not drawn decide on the rows of a result. It leaves res.other nil if there is none, if it
// has other pairs, or if it fails. Then the records have the propensities of the policy that was drawn.
func (d *Decider) decideOther(ctx context.Context, r *Result) {
	other, of := r.used.other, r.used.version.info.Actions
	if other == nil {
		return
	}
	if r.otherErr = of.SameSet(other.version.info.Actions); r.otherErr != nil {
		return
	}
	r.other, r.otherFeatures, r.otherErr = decideWith(ctx, *other, other.requestPrices(), r.request.Inputs, r.features, of, len(r.Decisions.Action))
	if r.otherErr != nil {
		d.slog.Warn("a decision has the propensities of one policy alone", "policy", r.Policy.Name, "failed", other.policy.Name, "error", r.otherErr)
	}
}

// decideWith lets a policy decide on n rows after another policy, with the actions of. It reuses the features of that one if
// both have the same encoder, and returns those that it used.
func decideWith(ctx context.Context, u used, at *policy.Prices, in policies.Inputs, features []float32, of *costs.Actions, n int) (_ *policy.Decisions, _ []float32, err error) {
	if in.Features == nil && !sameFeatures(u.version.info.Actions, of) {
		if features, err = u.policy.Encode(ctx, in); err != nil {
			return nil, nil, err
		}
	}
	if len(features) != n*u.version.info.Dim {
		return nil, nil, &InputError{"features", wrongFeatures(len(features)/n, u.version.info.Dim)}
	}
	dec, err := u.policy.Decide(ctx, at, features, n)
	return dec, features, err
}

// allowedPairs returns which pairs are available and not excluded by the policy.
func allowedPairs(available []bool, scores []float32) []bool {
	allowed := make([]bool, len(available))
	for i, ok := range available {
		allowed[i] = ok && scores[i] > policy.ExcludedBelow
	}
	return allowed
}
