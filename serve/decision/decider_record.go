package decision

import (
	"fmt"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// fill sets the inputs that a conversation gives the policy, and checks that inputs are what the policy takes.
func (d *Decider) fill(r *Request, p *policies.Policy) error {
	if r.Conversation != nil {
		switch p.Input() {
		case decide.InputText:
			text, err := r.Conversation.Text(d.settings.Prompt)
			if err != nil {
				return err
			}
			r.Inputs = policies.Inputs{Texts: []string{text}}
		case decide.InputImage:
			file, err := r.Conversation.Image()
			if err != nil {
				return err
			}
			r.Inputs = policies.Inputs{Images: [][]byte{file}}
		default:
			return &InputError{"messages", fmt.Sprintf("policy %q takes %s, not messages: its encoder is not loaded", p.Name, inputWords[p.Input()])}
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

// inputWords name the inputs of policies.
var inputWords = map[string]string{
	decide.InputFeatures: "features", decide.InputRow: "rows of raw columns", decide.InputText: "texts", decide.InputImage: "images",
}

func wrongFeatures(n, dim int) string {
	return fmt.Sprintf("there are %d features, but the policy takes %d per row", n, dim)
}

// record explores, and makes the records of a result.
func (d *Decider) record(res *Result, now time.Time, stages decisionlog.Stages) error {
	u, dec := res.used, res.Decisions
	n, pairs := len(dec.Action), dec.Actions
	if res.request.ID == "" {
		res.request.ID = decisionlog.NewID()
	}
	if dec.Loss != nil {
		u.version.fixed.add(dec.Loss)
	}
	explore := d.settings.Explore
	if res.request.NoExplore {
		explore = Explore{}
	}
	slab := make([]decisionlog.Record, n)
	res.Records = make([]*decisionlog.Record, n)
	user := d.userHash(res.request.User)
	for i := range slab {
		first, end := i*pairs, (i+1)*pairs
		greedy := int(dec.Action[i])
		slab[i] = decisionlog.Record{
			Time: now.UnixMicro(), ID: decisionlog.NewID(), Request: res.request.ID, Source: res.request.Source,
			Client: res.request.Client, User: user, Policy: u.policy.Name, Digest: u.policy.Digest, Canary: u.canary,
			Lambda: u.prices.Lambda, ExpertFees: u.prices.experts, AdviceFees: u.prices.advice, PairFees: u.prices.Pairs,
			Available: u.prices.Available, Features: res.row(i), Action: greedy, Greedy: greedy, Propensity: u.version.chosen[greedy],
			Guarded: u.version.guarded, Keep: 1, Executed: -1, Stages: stages,
		}
		r := &slab[i]
		if dec.Loss != nil {
			r.ExpectedLoss, r.ExpectedCost = dec.Loss[first:end:end], dec.Cost[first:end:end]
		}
		if explore.explores(r.ExpectedCost) {
			allowed := allowedPairs(u.prices.Available, dec.Scores[first:end])
			r.Propensity = make([]float64, pairs)
			explore.propensities(r.Propensity, allowed, greedy, r.ExpectedCost)
			r.Action = draw(r.Propensity, d.source.draw())
		}
		res.Records[i] = r
	}
	return nil
}

// allowedPairs are the available pairs that the policy may choose at all.
func allowedPairs(available []bool, scores []float32) []bool {
	allowed := make([]bool, len(available))
	for i, ok := range available {
		allowed[i] = ok && scores[i] > policy.ExcludedBelow
	}
	return allowed
}
