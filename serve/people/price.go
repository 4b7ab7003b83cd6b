package people

import (
	"maps"
	"math/bits"
	"slices"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/people/queue"
)

// priorAnswers is how many answers the configured time counts as.
const priorAnswers = 5

// expected is how long an answer of an expert takes: the mean of the last answers and of the configured time.
func (p *People) expected(expert string) time.Duration {
	t := p.queue.Times(expert)
	seconds := (priorAnswers*p.experts[expert].Seconds + t.Seconds) / (priorAnswers + t.Answers)
	return time.Duration(seconds * float64(time.Second))
}

// step is how often work falls due. Schedules need not be looked at for every request.
const step = time.Second

// advance lets work fall due up to now: Q_j <- [Q_j - served_j]+ of the drift-plus-penalty method (Neely, Stochastic Network
// Optimization, 2010), where what a person could have served is divided among the queues in proportion to their length.
func (p *People) advance() (now time.Time) {
	now = p.now()
	if now.Sub(p.debtAt) < step {
		return now
	}
	for i := range p.list {
		o := &p.list[i]
		sum := time.Duration(0)
		for _, e := range o.experts {
			sum += p.debt[e]
		}
		if sum <= 0 {
			continue
		}
		due := float64(o.schedule.Released(p.debtAt, now)) / float64(sum)
		for _, e := range o.experts {
			if d := p.debt[e]; d > 0 {
				p.debt[e] = max(0, d-time.Duration(due*float64(d)))
			}
		}
	}
	p.debtAt = now
	return now
}

// debtWith is the debt with more work of an expert.
func (p *People) debtWith(expert string, more time.Duration) map[string]time.Duration {
	debt := maps.Clone(p.debt)
	debt[expert] = max(0, debt[expert]+more)
	return debt
}

// load is the work that waits, as it was at a time.
type load struct {
	changes int
	at      time.Time
	expert  map[string]time.Duration // by expert, with what people have in their hands
	able    map[uint64]time.Duration // by the set of people who may do it, without that
	there   map[wanted]bool          // what was found about answers
}

// wanted is an answer of an expert by one of a set of people.
type wanted struct {
	expert string
	set    uint64
}

// waiting returns the work that waits. It is looked at again after every change, and every step.
func (p *People) waiting(now time.Time) *load {
	if l := &p.load; l.expert != nil && l.changes == p.changes && now.Sub(l.at) < step && !now.Before(l.at) {
		return l
	}
	l := load{changes: p.changes, at: now, expert: map[string]time.Duration{}, able: map[uint64]time.Duration{}, there: map[wanted]bool{}}
	for _, i := range p.queue.Waiting() {
		l.expert[i.Expert] += i.Expected
		if i.State(now) == queue.StateOpen {
			l.able[p.able(i.Expert, i.Advice, i.Tags)] += i.Expected
		}
	}
	p.load = l
	return &p.load
}

// price is what an answer of an expert costs beside its fee, in units of the loss: Q_j / V h_j. Q_j is the work that was sent and
// has not fallen due, or the work that waits if that is more. V is Expert.Full times the configured time of an answer.
func (p *People) price(expert string, now time.Time) float64 {
	e := p.experts[expert]
	work := max(p.debt[expert], p.waiting(now).expert[expert])
	return work.Seconds() / e.Full.Seconds() * p.expected(expert).Seconds() / e.Seconds
}

// there reports whether one of a set of people can answer for an expert: the hours that they have until Expert.Within, less the work
// that waits and that they may do, are enough.
func (p *People) there(of wanted, now time.Time) bool {
	l := p.waiting(now)
	yes, known := l.there[of]
	if !known {
		yes = p.haveTime(of, l, now)
		l.there[of] = yes
	}
	return yes
}

func (p *People) haveTime(of wanted, l *load, now time.Time) bool {
	need := p.expected(of.expert)
	for who, work := range l.able {
		if who&of.set != 0 {
			need += work
		}
	}
	longest := time.Duration(0) // of one person: an answer is not divided
	for rest := of.set; rest != 0; rest &= rest - 1 {
		o := &p.list[bits.TrailingZeros64(rest)]
		able := o.schedule.Capacity(now, now.Add(p.experts[of.expert].Within), p.used(o))
		need -= able
		longest = max(longest, able)
	}
	return of.set != 0 && need <= 0 && longest >= p.expected(of.expert)
}

// maxPrice is far above any loss, and leaves room for other fees.
const maxPrice = 1e6

// Ask returns what the pairs of policies cost by the work that waits, and those that nobody has the hours or the skills for. The tags
// are those of the request. What a pair costs is the same for all policies that are asked for one request. Both results are nil for
// a policy without experts that are people.
func (p *People) Ask(tags []string) func(*costs.Actions) (fees []float64, without []policy.Part) {
	type pair struct{ expert, advice string }
	type offer struct {
		price float64
		there bool
	}
	seen := map[pair]offer{}
	return func(a *costs.Actions) (fees []float64, without []policy.Part) {
		if !slices.ContainsFunc(a.Experts, func(e costs.Expert) bool { return p.Has(e.Name) }) {
			return nil, nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		now := p.advance()
		fees = make([]float64, a.Len())
		for i := range a.Len() {
			j, k := a.Pair(i)
			of := pair{a.Experts[j].Name, ""}
			if k > 0 {
				of.advice = a.Advice[k].Name
			}
			if !p.Has(of.expert) || !a.Available(i) {
				continue
			}
			o, ok := seen[of]
			if !ok {
				o = offer{min(p.price(of.expert, now), maxPrice), p.there(wanted{of.expert, p.able(of.expert, of.advice, tags)}, now)}
				seen[of] = o
			}
			if fees[i] = o.price; !o.there {
				without = append(without, policy.Pair(a.Name(i)))
			}
		}
		return fees, without
	}
}
