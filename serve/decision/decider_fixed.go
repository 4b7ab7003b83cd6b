package decision

import (
	"errors"
	"math"
	"slices"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// decideFixed uses [Request.FixedPair] if err says that the conversation has no input for the policy. Nothing is explored,
// and no shadow policy runs. Other errors are returned unchanged.
func (d *Decider) decideFixed(r Request, u used, err error) (*Result, error) {
	var prompt *PromptError
	if r.FixedPair == "" || !errors.As(err, &prompt) || !prompt.NoInput {
		return nil, err
	}
	pair, err := u.fixedPair(r.FixedPair, prompt)
	if err != nil {
		return nil, err
	}
	r.Source, r.NoExplore = decisionlog.SourceFixed, true
	res := &Result{Policy: u.policy, Prices: u.prices, Decisions: u.onePair(pair), decider: d, used: u, request: r}
	return res, d.record(res, time.Now(), decisionlog.Stages{Decode: r.Decode.Microseconds()})
}

// fixedPair returns the pair of a name, or the best fixed pair. If that is not available, it returns the cheapest pair that
// is.
func (u used) fixedPair(name string, prompt *PromptError) (int, error) {
	v, pair := u.version, 0
	if name == BestFixed {
		pair, name = v.fixed.bestOrTraining(u.prices), ""
	} else {
		pair = slices.Index(v.names, name)
	}
	if pair < 0 {
		return 0, &NoPairError{u.policy.Name, name, v.names[0], prompt}
	}
	available := u.prices.Available
	if available[pair] {
		return pair, nil
	}
	scores, best := u.fixedScores(), slices.Index(available, true) // prices without an available pair were an error
	for i, ok := range available {
		if ok && scores[i] > scores[best] {
			best = i
		}
	}
	return best, nil
}

// fixedScores are the scores of the pairs without any input: minus the mean expected loss over the traffic, as far as it is
// known, minus the fee.
func (u used) fixedScores() []float32 {
	scores := make([]float32, len(u.version.names))
	for i, c := range u.version.fixed.costs(u.prices) {
		scores[i] = float32(-c)
		if math.IsNaN(c) { // last, but allowed
			scores[i] = policy.ExcludedBelow / 2
		}
	}
	return scores
}

// onePair returns the decision for a given pair on one row.
func (u used) onePair(pair int) *policy.Decisions {
	j, k := u.version.info.Actions.Pair(pair)
	return &policy.Decisions{
		Actions: len(u.version.names), Levels: len(u.version.info.Actions.Advice),
		Action: []int64{int64(pair)}, Expert: []int64{int64(j)}, Advice: []int64{int64(k)}, Scores: u.fixedScores(),
	}
}
