package dashboard

import (
	"cmp"
	"slices"
	"time"

	"pipe/models/offpolicy/anytime"
	"pipe/pipeline/decisionlog"
)

// State has the figures of the page as JSON. Unknown figures are absent. docs/serve.md explains the fields.
type State struct {
	Format   int           `json:"format"`
	Time     time.Time     `json:"time"`
	Uptime   float64       `json:"uptime_seconds"`
	Minutes  int           `json:"minutes"` // span of the figures, up to now
	Traffic  TrafficState  `json:"traffic"`
	Policies []PolicyState `json:"policies"` // versions that decided, by name; for one name the latest first
	// Unmatched counts outcomes of decisions that are not stored.
	Unmatched int64 `json:"unmatched_outcomes"`
}

// stateFormat is the version of the JSON format.
const stateFormat = 1

// TrafficState has the figures of requests and decisions.
type TrafficState struct {
	RequestsPerSecond  float64 `json:"requests_per_second"` // over the last minute, or less after the start
	DecisionsPerSecond float64 `json:"decisions_per_second"`
	Requests           int64   `json:"requests"` // in the window
	Decisions          int64   `json:"decisions"`
	Refused            int64   `json:"refused"`         // answered with 400 to 499
	Failed             int64   `json:"failed"`          // answered with 500 or above
	TotalRequests      int64   `json:"total_requests"`  // since the start
	TotalDecisions     int64   `json:"total_decisions"` // since the start
	Bars               []Bar   `json:"bars"`            // of equal spans, the oldest first
}

// Bar is the traffic of one span.
type Bar struct {
	Age       float64 `json:"age_seconds"` // of its start
	Seconds   float64 `json:"seconds"`
	Requests  int64   `json:"requests"`
	Refused   int64   `json:"refused"`
	Failed    int64   `json:"failed"`
	Decisions int64   `json:"decisions"`
}

// PolicyState has the figures of one version of a policy. Costs and losses are per decision, in the unit of the task loss.
type PolicyState struct {
	Name        string  `json:"name"`
	Digest      string  `json:"digest"`
	Idle        float64 `json:"idle_seconds"` // since its last decision
	Decisions   int64   `json:"decisions"`
	Failed      int64   `json:"failed"`       // decisions that were not answered
	Explored    int64   `json:"explored"`     // another pair than the policy's was drawn
	Guarded     int64   `json:"guarded"`      // by the best fixed pair, because the guard exported it
	Canary      int64   `json:"canary"`       // as a canary
	OtherPrices int64   `json:"other_prices"` // at other prices than those of the file
	FellBack    int64   `json:"fell_back"`    // another pair than the chosen one answered

	Pairs    []PairState    `json:"pairs"` // those that exist, in the order of the policy
	Costs    CostState      `json:"costs"`
	Savings  []Saving       `json:"savings"`
	Stages   []StageState   `json:"stages"`
	Failures []FailureState `json:"failures"`
	Shadows  []ShadowState  `json:"shadows"`
	Sample   int            `json:"sample"`    // rows of features that are stored
	Waiting  int            `json:"waiting"`   // decisions that wait for an outcome
	KeepPart float64        `json:"keep_part"` // share of decisions that are stored for it

	times [stageCount]histogram
}

// PairState has the figures of one pair.
type PairState struct {
	Pair     string   `json:"pair"`
	Expert   string   `json:"expert"`
	Advice   string   `json:"advice"`
	Chosen   int64    `json:"chosen"`
	Share    float64  `json:"share"`          // of the decisions
	Executed int64    `json:"executed"`       // that it answered, if known
	Outcomes int64    `json:"outcomes"`       // losses that were reported
	Loss     *float64 `json:"loss,omitempty"` // their mean
}

// CostState compares the expected with the measured costs of the chosen pairs.
type CostState struct {
	Priced       int64    `json:"priced"` // decisions with an expectation
	ExpectedLoss *float64 `json:"expected_loss,omitempty"`
	ExpectedCost *float64 `json:"expected_cost,omitempty"`
	Exploring    *float64 `json:"exploring,omitempty"` // expected cost of exploration
	Outcomes     int64    `json:"outcomes"`
	// MeasuredFees means that expectations include measured fees, which outcomes do not have. Measured costs, and savings by
	// outcomes, are then not known.
	MeasuredFees bool     `json:"measured_fees,omitempty"`
	Unused       int64    `json:"unused"` // outcomes of another pair than the chosen one
	MeasuredLoss *float64 `json:"measured_loss,omitempty"`
	MeasuredCost *Mean    `json:"measured_cost,omitempty"` // loss plus the fees of the decision
	Residual     *Mean    `json:"residual,omitempty"`      // measured minus expected cost, of the same decisions
	Fee          *Mean    `json:"fee,omitempty"`           // measured fee of a call, in money
}

// Mean is a mean with its 95% confidence interval, which may be looked at after every row: the asymptotic confidence sequence of
// [anytime.AsymptoticFactor]. Low and High are absent below 100 effective rows.
type Mean struct {
	N    int64    `json:"n"`
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// StageState is the latency of a stage, in seconds.
type StageState struct {
	Stage string  `json:"stage"`
	N     int64   `json:"n"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
}

// FailureState counts failed calls of an expert.
type FailureState struct {
	Expert string `json:"expert"`
	Reason string `json:"reason"`
	N      int64  `json:"n"`
}

// ShadowState compares a shadow policy with the live one.
type ShadowState struct {
	Shadow    string  `json:"shadow"` // name@digest
	N         int64   `json:"n"`
	Agreement float64 `json:"agreement"`         // share of decisions with the same pair
	Cheaper   *Mean   `json:"cheaper,omitempty"` // expected cost of the live choice by the live policy, minus that of the shadow's choice by the shadow
}

// maxBars is the most bars in the chart of the traffic.
const maxBars = 90

// State returns the figures of the last minutes, from 1 to 60.
func (c *Collector) State(minutes int) *State {
	minutes = min(max(minutes, 1), minuteSlots)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	s := &State{Format: stateFormat, Time: time.Now().UTC(), Uptime: now.Seconds(), Minutes: minutes, Policies: []PolicyState{}}
	s.Traffic = c.trafficState(now, minutes)
	c.unmatched.last(now, minutes, func(_ int, n *int64) { s.Unmatched += *n })
	for _, v := range c.sorted() {
		s.Policies = append(s.Policies, v.state(now, minutes))
	}
	return s
}

// trafficState merges slots into bars.
func (c *Collector) trafficState(now time.Duration, minutes int) TrafficState {
	slots := minutes * int(time.Minute/trafficSpan)
	each := (slots + maxBars - 1) / maxBars
	slots = (slots + each - 1) / each * each
	s := TrafficState{TotalRequests: c.total.requests, TotalDecisions: c.total.decisions, Bars: make([]Bar, slots/each)}
	start := c.traffic.number(now) - int64(slots) + 1
	var minute, sum traffic
	for b := range s.Bars {
		from := time.Duration(start-1+int64(b*each)) * trafficSpan
		to := min(from+time.Duration(each)*trafficSpan, now)
		s.Bars[b].Age, s.Bars[b].Seconds = (now - from).Seconds(), max(0, (to-max(from, 0)).Seconds())
	}
	whole := int(time.Minute / trafficSpan)
	c.traffic.last(now, slots, func(age int, t *traffic) {
		bar := &s.Bars[(slots-1-age)/each]
		bar.Requests += t.requests
		bar.Refused += t.refused
		bar.Failed += t.failed
		bar.Decisions += t.decisions
		sum.merge(t)
		if age <= whole {
			minute.merge(t)
		}
	})
	s.Requests, s.Decisions, s.Refused, s.Failed = sum.requests, sum.decisions, sum.refused, sum.failed
	// The complete spans of the last minute, and the current one.
	span := time.Duration(c.traffic.number(now)-1) * trafficSpan
	if seconds := (now - max(0, span-time.Minute)).Seconds(); seconds > 0 {
		s.RequestsPerSecond, s.DecisionsPerSecond = float64(minute.requests)/seconds, float64(minute.decisions)/seconds
	}
	return s
}

// state returns the figures of the last minutes.
func (v *version) state(now time.Duration, minutes int) PolicyState {
	var sum minute
	sum.allocate(v.info.Actions.Len())
	s := PolicyState{Name: v.name, Digest: v.digest, Idle: (now - v.lastUsed).Seconds(), Sample: v.sample.n(), Waiting: v.pending.waiting, KeepPart: v.pending.keptShare()}
	v.minutes.last(now, minutes, func(_ int, m *minute) {
		sum.merge(m)
		for i, h := range m.stages {
			if h != nil {
				s.times[i].merge(h)
			}
		}
	})
	s.Decisions, s.Failed, s.Explored, s.Guarded = sum.decisions, sum.failed, sum.explored, sum.guarded
	s.Canary, s.OtherPrices, s.FellBack = sum.canary, sum.otherPrices, sum.fellBack
	s.Pairs = v.pairStates(&sum)
	s.Costs = sum.costs()
	s.Costs.MeasuredFees = v.info.MeasuredFees()
	s.Savings = v.savings(&sum)
	s.Stages = stageStates(&s.times)
	s.Failures = v.failures(&sum)
	s.Shadows = sum.shadowStates()
	return s
}

func (v *version) pairStates(m *minute) []PairState {
	a := v.info.Actions
	pairs := make([]PairState, 0, a.Len())
	for i, there := range a.Mask() {
		if !there {
			continue
		}
		j, k := a.Pair(i)
		p := PairState{Pair: a.Name(i), Expert: a.Experts[j].Name, Advice: a.Advice[k].Name, Chosen: m.chosen[i], Executed: m.executed[i], Outcomes: m.loss[i].n}
		if m.decisions > 0 {
			p.Share = float64(p.Chosen) / float64(m.decisions)
		}
		p.Loss = ratio(m.loss[i].sum, m.loss[i].n)
		pairs = append(pairs, p)
	}
	return pairs
}

// ratio returns sum / n, nil for n = 0.
func ratio(sum float64, n int64) *float64 {
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// meanOf returns the mean of values with its interval; nil without values.
func meanOf(m moments) *Mean { return meanBy(m, float64(m.n)) }

// Intervals miss with this probability, and are narrowest at this number of rows.
const (
	intervalAlpha = 0.05
	plannedRows   = 1000
)

// meanBy is meanOf for weighted values, with their effective number of rows.
func meanBy(m moments, effective float64) *Mean {
	if m.n == 0 {
		return nil
	}
	out := &Mean{N: m.n, Mean: m.mean()}
	if effective >= decisionlog.LeastEffective {
		half := m.error() * anytime.AsymptoticFactor(effective, intervalAlpha, plannedRows)
		low, high := out.Mean-half, out.Mean+half
		out.Low, out.High = &low, &high
	}
	return out
}

func (m *minute) costs() CostState {
	s := CostState{
		Priced: m.priced, ExpectedLoss: ratio(m.expectedLoss, m.priced), ExpectedCost: ratio(m.expectedCost, m.priced),
		Outcomes: m.known, Unused: m.unused, MeasuredCost: meanOf(m.measured), Residual: meanOf(m.residual), Fee: meanOf(m.fee),
	}
	if m.explored > 0 {
		s.Exploring = ratio(m.extra, m.priced)
	}
	var loss moments
	for _, l := range m.loss {
		loss.merge(l)
	}
	s.MeasuredLoss = ratio(loss.sum, loss.n)
	return s
}

func stageStates(times *[stageCount]histogram) []StageState {
	stages := []StageState{}
	for i := range times {
		if h := &times[i]; h.n > 0 {
			const second = 1e6
			stages = append(stages, StageState{
				Stage: stageNames[i], N: h.n, Mean: h.sum / float64(h.n) / second,
				P50: h.quantile(0.5) / second, P90: h.quantile(0.9) / second, P99: h.quantile(0.99) / second,
			})
		}
	}
	return stages
}

func (v *version) failures(m *minute) []FailureState {
	all := []FailureState{}
	for key, n := range m.attempts {
		all = append(all, FailureState{v.info.Actions.Experts[key.expert].Name, key.reason, n})
	}
	slices.SortFunc(all, func(a, b FailureState) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Expert, b.Expert), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

func (m *minute) shadowStates() []ShadowState {
	all := []ShadowState{}
	for key, a := range m.shadows {
		all = append(all, ShadowState{Shadow: key, N: a.n, Agreement: float64(a.same) / float64(a.n), Cheaper: meanOf(a.cheaper)})
	}
	slices.SortFunc(all, func(a, b ShadowState) int { return cmp.Compare(a.Shadow, b.Shadow) })
	return all
}
