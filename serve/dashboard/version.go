package dashboard

import (
	"math"
	"slices"
	"strconv"
	"strings"
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

// version has the figures of one version of a policy. It is guarded by Collector.mu.
type version struct {
	name, digest string
	info         *policy.Info
	lastUsed     time.Duration // when it last decided
	minutes      window[minute]
	pending      outcomeRing
	sample       sample
}

// versionKey returns name@digest, which is unique because digests contain no @.
func versionKey(name, digest string) string { return name + "@" + digest }

// minuteSlots is the length of the window in minutes.
const minuteSlots = 60

func newVersion(name, digest string, info *policy.Info, s Settings) *version {
	pairs := info.Actions.Len()
	return &version{
		name: name, digest: digest, info: info,
		minutes: newWindow(time.Minute, minuteSlots, (*minute).reset),
		pending: newOutcomeRing(pairs, s.Outcomes), sample: sample{dim: info.Dim, most: s.Sample},
	}
}

// minute has the sums of one or several minutes. Slices have an entry per pair, and are nil until they are needed.
type minute struct {
	decisions, explored, guarded, canary, otherPrices, fellBack, failed int64

	chosen, executed []int64
	expectedLoss     float64   // of the chosen pairs of priced decisions
	expectedCost     float64   // expectedLoss plus fees
	extra            float64   // expected cost of exploration
	priced           int64     // decisions with expectations
	costOf           []moments // per pair: its expected cost minus that of the chosen pair

	known     int64     // outcomes
	loss      []moments // per executed pair: its outcomes
	measured  moments   // loss plus fees of all outcomes
	residual  moments   // measured minus expected cost, if there is an expectation
	weighted  []moments // per pair: its cost minus that of the decision, by importance weights
	hits      []moments // per pair: the weights of the outcomes for which it was chosen
	uncovered []int64   // per pair: outcomes of decisions for which it was available with a propensity of 0
	compared  int64     // outcomes that compare pairs
	unused    int64     // outcomes of another pair than the chosen one

	fee      moments // measured fees of calls, in money
	attempts map[attempt]int64
	stages   [stageCount]*histogram
	shadows  map[string]*agreement
}

// attempt is the expert of a failed call, and why it failed.
type attempt struct {
	expert int
	reason string
}

// agreement compares a shadow policy with the live one.
type agreement struct {
	n, same int64
	cheaper moments // expected cost of the live policy minus that of the shadow
}

// reasonOf describes why a call failed: the status, or that there was no answer.
func reasonOf(a decisionlog.Attempt) string {
	if strings.HasPrefix(a.Error, decisionlog.HedgePrefix) {
		return "another was faster"
	}
	if a.Status == 0 {
		return "no answer"
	}
	return "status " + strconv.Itoa(a.Status)
}

// maxKeys bounds maps whose keys come from requests.
const maxKeys = 64

func (m *minute) reset() {
	for _, s := range []([]int64){m.chosen, m.executed, m.uncovered} {
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
		uncovered: m.uncovered, stages: m.stages,
	}
}

// ensureLen returns *s, which it allocates with n entries if it is shorter.
func ensureLen[T any](s *[]T, n int) []T {
	if len(*s) < n {
		*s = make([]T, n)
	}
	return *s
}

// addDecision counts one decision.
func (v *version) addDecision(now time.Duration, r *decisionlog.Record) {
	m, pairs := v.minutes.at(now), v.info.Actions.Len()
	m.addStages(&r.Stages)
	m.addAttempts(v, r)
	if r.Error != "" || r.Action < 0 || r.Action >= pairs {
		m.failed++
		return
	}
	m.decisions++
	ensureLen(&m.chosen, pairs)[r.Action]++
	increment(&m.explored, r.Action != r.Greedy)
	increment(&m.guarded, r.Guarded)
	increment(&m.canary, r.Canary)
	increment(&m.otherPrices, v.hasOtherPrices(r))
	if r.Executed >= 0 && r.Executed < pairs {
		ensureLen(&m.executed, pairs)[r.Executed]++
		increment(&m.fellBack, r.FellBack())
	}
	if paid := r.Paid(); paid == paid && !r.IsFixed() {
		m.fee.add(paid)
	}
	if len(r.ExpectedCost) == pairs && r.Greedy >= 0 && r.Greedy < pairs {
		m.addExpectations(r)
	}
}

func increment(n *int64, yes bool) {
	if yes {
		*n++
	}
}

// hasOtherPrices reports whether a decision was made at other prices than those of the file.
func (v *version) hasOtherPrices(r *decisionlog.Record) bool {
	a := v.info.Actions
	if r.Lambda != v.info.Lambda || r.PairFees != nil {
		return true
	}
	if u := v.info.Usage; u == nil && r.UsagePrices != nil || u != nil && !slices.Equal(r.UsagePrices, decisionlog.FlatPrices(u.Prices, len(a.Experts))) {
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

// addExpectations adds the expected costs of the decision and of every pair.
func (m *minute) addExpectations(r *decisionlog.Record) {
	chosen := float64(r.ExpectedCost[r.Action])
	if !isCost(chosen) {
		return
	}
	m.priced++
	m.expectedCost += chosen
	if len(r.ExpectedLoss) == len(r.ExpectedCost) {
		m.expectedLoss += float64(r.ExpectedLoss[r.Action])
	}
	if greedy := float64(r.ExpectedCost[r.Greedy]); isCost(greedy) {
		m.extra += chosen - greedy
	}
	costOf := ensureLen(&m.costOf, len(r.ExpectedCost))
	for i, cost := range r.ExpectedCost {
		if cost := float64(cost); isCost(cost) && available(r, i) {
			costOf[i].add(cost - chosen)
		}
	}
}

// isCost reports whether an expected cost is valid. Pairs that may not be chosen have values above 1e29.
func isCost(cost float64) bool { return math.Abs(cost) < -policy.ExcludedBelow }

// addAttempts counts failed calls.
func (m *minute) addAttempts(v *version, r *decisionlog.Record) {
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
		if _, there := m.attempts[key]; there || len(m.attempts) < maxKeys {
			m.attempts[key]++
		}
	}
}

// addShadow compares the decision of a shadow policy with the choice of the live policy.
func (m *minute) addShadow(r *decisionlog.Record, shadow decisionlog.Shadow, agrees bool) {
	key := versionKey(shadow.Policy, shadow.Digest)
	a := m.shadows[key]
	if a == nil {
		if len(m.shadows) >= maxKeys {
			return
		}
		if m.shadows == nil {
			m.shadows = make(map[string]*agreement)
		}
		a = &agreement{}
		m.shadows[key] = a
	}
	a.n++
	increment(&a.same, agrees)
	if r.Greedy >= 0 && r.Greedy < len(r.ExpectedCost) {
		if live := float64(r.ExpectedCost[r.Greedy]); isCost(live) && isCost(shadow.ExpectedCost) {
			a.cheaper.add(live - shadow.ExpectedCost)
		}
	}
}

// addStages adds the latencies of stages.
func (m *minute) addStages(s *decisionlog.Stages) {
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

// addOutcome compares the loss of a decision with the expected one, and with the cost of other pairs.
func (v *version) addOutcome(now time.Duration, loss float64, k pendingDecision) {
	m, pairs := v.minutes.at(now), v.info.Actions.Len()
	executed := k.executed
	if executed < 0 {
		executed = k.action
	}
	m.known++
	ensureLen(&m.loss, pairs)[executed].add(loss)
	if v.info.MeasuredFees() {
		return // the outcome does not include measured fees, so its cost is not known
	}
	cost := loss + k.fee(executed)
	if math.IsNaN(cost) {
		return // the fee depends on what the pair uses, which is not known
	}
	m.measured.add(cost)
	if k.priced && executed == k.action {
		m.residual.add(cost - float64(k.cost[executed]))
	}
	if executed != k.action {
		m.unused++
		return
	}
	m.addWeighted(k, cost)
}

// addWeighted estimates the cost of every pair by importance weights. The expected cost is subtracted before weighting and
// added after it, if there is one (the doubly robust estimate). The estimate is unbiased for any expectation, because
// propensities are exact, and its variance is smaller the better the expectation is.
func (m *minute) addWeighted(k pendingDecision, cost float64) {
	weighted, hits, uncovered := ensureLen(&m.weighted, len(k.propensity)), ensureLen(&m.hits, len(k.propensity)), ensureLen(&m.uncovered, len(k.propensity))
	m.compared++
	for i, p := range k.propensity {
		if p <= 0 {
			increment(&uncovered[i], p == 0)
			continue
		}
		expected := 0.0
		if k.priced && isCost(float64(k.cost[i])) {
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
