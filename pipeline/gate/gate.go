package gate

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"

	"pipe/models/offpolicy/anytime"
	"pipe/pipeline/decisionlog"
)

// Gate judges one trial. It is safe for concurrent use.
type Gate struct {
	trial    Trial
	settings Settings
	seed     maphash.Seed

	mu        sync.Mutex
	gain      *anytime.Sequence
	users     map[uint64]struct{} // whose decision that counts was made
	waiting   map[string]*unit    // decisions without an outcome, by id
	believed  beliefs
	arms      [2]arm
	decisions int64 // with the probabilities of both policies
	differ    int64 // of these, with different ones
	skipped   int64 // users beyond maxUsers
	outside   int64 // costs that are not within the range
	weight    float64
	squares   float64 // sum of squared weights
	verdict   Verdict // the first one that was not GoOn
}

// The arms of a trial.
const (
	liveArm = iota
	candidateArm
)

// arm counts the users of one of the two policies.
type arm struct {
	users, outcomes int
	cost            float64 // sum over outcomes
}

// unit is the decision of a user that counts: only the pairs that the two policies treat differently, and all others as one.
type unit struct {
	arm      int
	pair     int // that was drawn
	executed int // in pairs; len(pairs) for any other
	pairs    []int
	row      anytime.Row // without cost and estimates
	fee      float64     // of the pair that answered; NaN: not known
}

// maxUsers bounds the memory. Later users do not count; by then a gain of a thousandth of the range is known.
const maxUsers = 1 << 20

// New starts a trial. The errors are those of the Validate methods.
func New(t Trial, s Settings) (*Gate, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	gain, err := anytime.New(s.interval(t.Share))
	if err != nil {
		return nil, err
	}
	return &Gate{
		trial: t, settings: s, seed: maphash.MakeSeed(), gain: gain, users: map[uint64]struct{}{}, waiting: map[string]*unit{},
		believed: newBeliefs(s.Costs, t.Live.Actions.Len()), verdict: GoOn,
	}, nil
}

// Trial returns what is tried.
func (g *Gate) Trial() Trial { return g.trial }

// Decision takes a decision after its execution. Those that are not of the trial are ignored. It keeps nothing of r.
func (g *Gate) Decision(r *decisionlog.Record) {
	if !g.has(r) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decisions++
	if slices.Equal(r.Propensity, r.OwnPropensity) {
		return
	}
	g.differ++
	user := maphash.String(g.seed, userOf(r))
	if _, known := g.users[user]; known {
		return
	}
	if len(g.users) >= maxUsers {
		g.skipped++
		return
	}
	g.users[user] = struct{}{}
	u := newUnit(r)
	g.arms[u.arm].users++
	if r.Error == "" {
		g.waiting[r.ID] = u
	}
}

// has reports whether a decision is of the trial, with the probabilities of both policies.
func (g *Gate) has(r *decisionlog.Record) bool {
	of := g.trial.Live
	if r.Canary {
		of = g.trial.Candidate
	}
	return r.Digest == of.Digest && r.Policy == of.Name && r.Time >= g.trial.Started && r.OwnPropensity != nil && r.Share > 0 && r.Share < 1 && !r.IsFixed() && !r.IsPanel() && !r.IsCascade()
}

// userOf is the user of a decision: the hash of its name, or the request if it names none.
func userOf(r *decisionlog.Record) string {
	if r.User != "" {
		return "user " + r.User
	}
	return "request " + r.Request
}

// newUnit takes the probabilities of both policies from the record alone: mixture = (1 - share) live + share candidate, and
// its own ones are those of the policy that decided.
func newUnit(r *decisionlog.Record) *unit {
	u := &unit{pair: r.Action, executed: -1, fee: r.FeeOf(r.Answered())}
	weight := 1 - r.Share
	if r.Canary {
		u.arm, weight = candidateArm, r.Share
	}
	var rest [3]float64
	add := func(logged, target, baseline float64) {
		u.row.Logged, u.row.Target, u.row.Baseline = append(u.row.Logged, logged), append(u.row.Target, target), append(u.row.Baseline, baseline)
	}
	for a, logged := range r.Propensity {
		own := r.OwnPropensity[a]
		other := min(1, max(0, (logged-weight*own)/(1-weight)))
		target, baseline := other, own
		if r.Canary {
			target, baseline = own, other
		}
		if logged == own { // then the other policy's is the same
			rest[0], rest[1], rest[2] = rest[0]+logged, rest[1]+own, rest[2]+own
			continue
		}
		if a == r.Action {
			u.executed = len(u.pairs)
		}
		u.pairs = append(u.pairs, a)
		add(logged, target, baseline)
	}
	if u.executed < 0 {
		u.executed = len(u.pairs)
	}
	add(rest[0], rest[1], rest[2])
	u.row.Executed = u.executed
	return u
}

// Outcome takes the outcome of a decision, and returns the verdict. Outcomes that state no loss, or are of decisions that do not
// count or have one already, change nothing. The first verdict that is not GoOn stays.
func (g *Gate) Outcome(o decisionlog.Outcome) Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count(o) && g.verdict == GoOn {
		g.verdict, _ = g.judge()
	}
	return g.verdict
}

// count reports whether an outcome counts, and adds it to the interval.
func (g *Gate) count(o decisionlog.Outcome) bool {
	loss, ok := o.LossOf()
	u := g.waiting[o.ID]
	if !ok || u == nil || math.IsNaN(u.fee) {
		return false
	}
	delete(g.waiting, o.ID)
	g.add(u, loss+u.fee)
	return true
}

// add adds the term of a user to the interval.
func (g *Gate) add(u *unit, cost float64) {
	row := u.row
	row.Cost, row.Estimates = cost, g.believed.of(u.pairs)
	if g.gain.Add(row) != nil { // all but the cost was checked when it was logged
		g.outside++
		return
	}
	g.believed.add(u.pair, cost)
	w := math.Abs(row.Target[u.executed]-row.Baseline[u.executed]) / row.Logged[u.executed]
	g.weight, g.squares = g.weight+w, g.squares+w*w
	g.arms[u.arm].outcomes++
	g.arms[u.arm].cost += cost
}

// beliefs estimate the cost of every pair from the outcomes before: its mean, drawn towards that of all pairs. What the policies
// expect is not used: a record has it of the policy that decided only, and an estimate that depends on which one that was
// makes the interval wrong.
type beliefs struct {
	all  mean
	pair []mean
}

type mean struct{ sum, n float64 }

// priorOutcomes is how many outcomes a prior estimate counts as.
const priorOutcomes = 5

func newBeliefs(costs []float64, pairs int) beliefs {
	return beliefs{all: mean{priorOutcomes * (costs[0] + costs[1]) / 2, priorOutcomes}, pair: make([]mean, pairs)}
}

func (b *beliefs) add(pair int, cost float64) {
	for _, m := range []*mean{&b.all, &b.pair[pair]} {
		m.sum += cost
		m.n++
	}
}

// of returns the estimates of pairs, and one for all others.
func (b *beliefs) of(pairs []int) []float64 {
	all := b.all.sum / b.all.n
	out := make([]float64, 0, len(pairs)+1)
	for _, a := range pairs {
		out = append(out, (b.pair[a].sum+priorOutcomes*all)/(b.pair[a].n+priorOutcomes))
	}
	return append(out, all)
}
