package dashboard

import (
	"math"
	"strconv"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// The stages of a request, in their order.
const (
	stageDecode = iota
	stageEncode
	stageDecide
	stageAdvise
	stageExpert
	stageFirstByte
	stageCount
)

var stageNames = [stageCount]string{"decode", "encode", "decide", "advise", "expert", "first byte"}

// version is the figures of one version of a policy. It is guarded by the collector's mutex.
type version struct {
	name, digest string
	info         *policy.Info
	seen         time.Duration // when it last decided
	minutes      window[minute]
	kept         kept
	sample       sample
}

// versionKey cannot be the same for two versions, because digests contain no @.
func versionKey(name, digest string) string { return name + "@" + digest }

// minuteSlots is the number of minutes that are kept.
const minuteSlots = 60

func newVersion(name, digest string, info *policy.Info, s Settings) *version {
	pairs := info.Actions.Len()
	return &version{
		name: name, digest: digest, info: info,
		minutes: newWindow(time.Minute, minuteSlots, (*minute).reset),
		kept:    newKept(pairs, s.Outcomes), sample: sample{dim: info.Dim, most: s.Sample},
	}
}

// minute are the sums of a minute, or of several. Slices have an entry per pair, and are nil until they are needed.
type minute struct {
	decisions, explored, guarded, canary, otherPrices, fellBack, failed int64

	chosen, executed []int64
	expectedLoss     float64   // of the chosen pairs of priced decisions
	expectedCost     float64   // the same with fees
	extra            float64   // what exploring is expected to have cost
	priced           int64     // decisions with expectations
	costOf           []moments // per pair: what always taking it is expected to cost more than what was chosen

	known    int64     // outcomes
	loss     []moments // per pair that was executed: its outcomes
	measured moments   // loss plus fees, of all of them
	residual moments   // measured minus expected cost, where there was an expectation
	weighted []moments // per pair: what always taking it would have cost more, by importance weights
	hits     []moments // per pair: the weights of outcomes that carry any, because it was chosen
	uncover  []int64   // per pair: outcomes of decisions that had it and could not have chosen it
	compared int64     // outcomes that pairs are compared by, where they were available
	unused   int64     // outcomes of another pair than the chosen one

	fee      moments // measured fees of calls, in money
	attempts map[attempt]int64
	stages   [stageCount]*histogram
	shadows  map[string]*agreement
}

// attempt is why a pair was tried and left, by expert.
type attempt struct {
	expert int
	reason string
}

// agreement compares the decisions of a shadow policy.
type agreement struct {
	n, same int64
	cheaper moments // what it expects to pay less than the live policy expects to pay
}

// reasonOf is why an attempt failed, in a few words: the status, or that there was no answer.
func reasonOf(a decisionlog.Attempt) string {
	if a.Status == 0 {
		return "no answer"
	}
	return "status " + strconv.Itoa(a.Status)
}

// most keys of maps that come from requests, so that memory is bounded.
const mostKeys = 64

func (m *minute) reset() {
	for _, s := range []([]int64){m.chosen, m.executed, m.uncover} {
		clear(s)
	}
	for _, s := range []([]moments){m.costOf, m.loss, m.weighted, m.hits} {
		clear(s)
	}
	for _, h := range m.stages {
		if h != nil {
			*h = histogram{}
		}
	}
	*m = minute{
		chosen: m.chosen, executed: m.executed, costOf: m.costOf, loss: m.loss, weighted: m.weighted, hits: m.hits,
		uncover: m.uncover, stages: m.stages,
	}
}

// sized is s with n entries.
func sized[T any](s *[]T, n int) []T {
	if len(*s) < n {
		*s = make([]T, n)
	}
	return *s
}

// decided counts one decision.
func (v *version) decided(now time.Duration, r *decisionlog.Record) {
	m, pairs := v.minutes.at(now), v.info.Actions.Len()
	m.times(&r.Stages)
	m.attempted(v, r)
	if r.Error != "" || r.Action < 0 || r.Action >= pairs {
		m.failed++
		return
	}
	m.decisions++
	sized(&m.chosen, pairs)[r.Action]++
	count(&m.explored, r.Action != r.Greedy)
	count(&m.guarded, r.Guarded)
	count(&m.canary, r.Canary)
	count(&m.otherPrices, v.repriced(r))
	if r.Executed >= 0 && r.Executed < pairs {
		sized(&m.executed, pairs)[r.Executed]++
		count(&m.fellBack, r.Executed != r.Action)
	}
	if r.FeeKnown && !r.IsFixed() {
		m.fee.add(r.Fee)
	}
	if len(r.ExpectedCost) == pairs && r.Greedy >= 0 && r.Greedy < pairs {
		m.expects(r)
	}
}

func count(n *int64, yes bool) {
	if yes {
		*n++
	}
}

// repriced reports whether a decision had other prices than the file.
func (v *version) repriced(r *decisionlog.Record) bool {
	a := v.info.Actions
	if r.Lambda != v.info.Lambda || r.PairFees != nil {
		return true
	}
	for j, fee := range r.ExpertFees {
		if j < len(a.Experts) && fee != a.Experts[j].Fee {
			return true
		}
	}
	for k, fee := range r.AdviceFees {
		if k < len(a.Advice) && fee != a.Advice[k].Fee {
			return true
		}
	}
	return false
}

// expects adds what the policy expects of the decision and of every pair.
func (m *minute) expects(r *decisionlog.Record) {
	chosen := float64(r.ExpectedCost[r.Action])
	if !usable(chosen) {
		return
	}
	m.priced++
	m.expectedCost += chosen
	if len(r.ExpectedLoss) == len(r.ExpectedCost) {
		m.expectedLoss += float64(r.ExpectedLoss[r.Action])
	}
	if greedy := float64(r.ExpectedCost[r.Greedy]); usable(greedy) {
		m.extra += chosen - greedy
	}
	costOf := sized(&m.costOf, len(r.ExpectedCost))
	for i, cost := range r.ExpectedCost {
		if cost := float64(cost); usable(cost) && available(r, i) {
			costOf[i].add(cost - chosen)
		}
	}
}

// usable reports whether an expectation is one: those of pairs that may not be chosen are numbers above 1e29.
func usable(cost float64) bool { return math.Abs(cost) < -policy.ExcludedBelow }

// attempted counts the calls that failed.
func (m *minute) attempted(v *version, r *decisionlog.Record) {
	pairs := v.info.Actions.Len()
	for _, a := range r.Attempts {
		if a.Error == "" || a.Action < 0 || a.Action >= pairs {
			continue
		}
		expert, _ := v.info.Actions.Pair(a.Action)
		key := attempt{expert, reasonOf(a)}
		if m.attempts == nil {
			m.attempts = make(map[attempt]int64)
		}
		if _, there := m.attempts[key]; there || len(m.attempts) < mostKeys {
			m.attempts[key]++
		}
	}
}

// shadowed compares what a shadow policy decided with what the live policy alone would choose.
func (m *minute) shadowed(r *decisionlog.Record, shadow decisionlog.Shadow, agrees bool) {
	key := versionKey(shadow.Policy, shadow.Digest)
	a := m.shadows[key]
	if a == nil {
		if len(m.shadows) >= mostKeys {
			return
		}
		if m.shadows == nil {
			m.shadows = make(map[string]*agreement)
		}
		a = &agreement{}
		m.shadows[key] = a
	}
	a.n++
	count(&a.same, agrees)
	if r.Greedy >= 0 && r.Greedy < len(r.ExpectedCost) {
		if live := float64(r.ExpectedCost[r.Greedy]); usable(live) && usable(shadow.ExpectedCost) {
			a.cheaper.add(live - shadow.ExpectedCost)
		}
	}
}

// times adds the latency of the stages that took place.
func (m *minute) times(s *decisionlog.Stages) {
	for i, micros := range [stageCount]int64{s.Decode, s.Encode, s.Decide, s.Advise, s.Expert, s.FirstByte} {
		if micros <= 0 {
			continue
		}
		if m.stages[i] == nil {
			m.stages[i] = new(histogram)
		}
		m.stages[i].add(micros)
	}
}

// outcome compares the loss of a decision with what was expected, and with what other pairs would have cost.
func (v *version) outcome(now time.Duration, loss float64, k keptDecision) {
	m, pairs := v.minutes.at(now), v.info.Actions.Len()
	executed := k.executed
	if executed < 0 {
		executed = k.action
	}
	m.known++
	sized(&m.loss, pairs)[executed].add(loss)
	if v.info.MeasuredFees() {
		return // of which the outcome has none: its cost is not known
	}
	cost := loss + k.fee(executed)
	m.measured.add(cost)
	if k.priced && executed == k.action {
		m.residual.add(cost - float64(k.cost[executed]))
	}
	if executed != k.action {
		m.unused++
		return
	}
	m.weigh(k, cost)
}

// weigh adds what every pair would have cost by importance weights. The expected cost, where there is one, is subtracted
// before weighting and added after it (the doubly robust estimate): that is right on average for any expectation, because
// propensities are exact, and varies less the better the expectation is.
func (m *minute) weigh(k keptDecision, cost float64) {
	weighted, hits, uncovered := sized(&m.weighted, len(k.propensity)), sized(&m.hits, len(k.propensity)), sized(&m.uncover, len(k.propensity))
	m.compared++
	for i, p := range k.propensity {
		if p <= 0 {
			count(&uncovered[i], p == 0)
			continue
		}
		expected := 0.0
		if k.priced && usable(float64(k.cost[i])) {
			expected = float64(k.cost[i])
		}
		estimate := expected
		if i == k.action {
			estimate += (cost - expected) / float64(p)
			hits[i].add(1 / float64(p))
		}
		weighted[i].add(estimate - cost)
	}
}
