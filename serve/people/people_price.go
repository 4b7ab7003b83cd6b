package people

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/models/policy"
)

// priorAnswers is how many answers the configured time counts as.
const priorAnswers = 5

// expected is how long an answer of an expert takes: the mean of the last answers and of the configured time.
func (p *People) expected(expert string) time.Duration {
	t := p.queue.times[expert]
	seconds := (priorAnswers*p.team.Load().Experts[expert].Seconds + t.Seconds) / (priorAnswers + t.Answers)
	return time.Duration(seconds * float64(time.Second))
}

// step is how often work falls due. Schedules need not be looked at for every request.
const step = time.Second

// advance lets work fall due up to now: Q_j <- [Q_j - served_j]+ of the drift-plus-penalty method (Neely, Stochastic Network
// Optimization, 2010), where what a person could have served is divided among the queues in proportion to their length.
func (p *People) advance() (now time.Time) {
	now = p.now()
	at := p.queue.debtAt
	if now.Sub(at) < step {
		return now
	}
	debt := maps.Clone(p.queue.debt)
	for _, o := range p.team.Load().people {
		sum := time.Duration(0)
		for _, e := range o.experts {
			sum += debt[e]
		}
		if sum <= 0 {
			continue
		}
		due := float64(o.schedule.Released(at, now)) / float64(sum)
		for _, e := range o.experts {
			debt[e] = max(0, debt[e]-time.Duration(due*float64(debt[e])))
		}
	}
	p.queue.debt, p.queue.debtAt = debt, now
	return now
}

// load is the work that waits, as it was at a time.
type load struct {
	at     time.Time
	expert map[string]waiting
	able   map[uint64]time.Duration // open work by the set of people who may do it
	there  map[wanted]bool          // what was found about answers
}

// waiting is the work of an expert that is not finished.
type waiting struct {
	open, claimed int
	work          time.Duration // expected, of both
}

// wanted is an answer of an expert by one of a set of people.
type wanted struct {
	expert string
	set    uint64
}

// waiting returns the work that waits. It is looked at again after every change, and every step.
func (p *People) waiting(now time.Time) *load {
	if l := &p.load; l.expert != nil && now.Sub(l.at) < step && !now.Before(l.at) {
		return l
	}
	l := load{at: now, expert: map[string]waiting{}, able: map[uint64]time.Duration{}, there: map[wanted]bool{}}
	sets := map[string]uint64{} // many items want the same
	for _, i := range p.queue.waiting {
		w := l.expert[i.Expert]
		w.work += i.Expected
		if i.State(now) == StateOpen {
			w.open++
			wants := strings.Join(append([]string{i.Expert, i.Advice}, i.Tags...), "\x00")
			set, known := sets[wants]
			if !known {
				set = p.team.Load().able(&i.New)
				sets[wants] = set
			}
			l.able[set] += i.Expected
		} else {
			w.claimed++
		}
		l.expert[i.Expert] = w
	}
	p.load = l
	return &p.load
}

// price is what an answer of an expert costs beside its fee, in units of the loss: Q_j / V h_j. Q_j is the work that was sent and
// has not fallen due, or the work that waits if that is more. V is Expert.Full times the configured time of an answer.
func (p *People) price(expert string, now time.Time) float64 {
	e := p.team.Load().Experts[expert]
	work := max(p.queue.debt[expert], p.waiting(now).expert[expert].work)
	return work.Seconds() / e.Full.Seconds() * p.expected(expert).Seconds() / e.Seconds
}

// there reports whether one of a set of people has the hours to answer for an expert until Expert.Within, beside the work that waits.
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
	t := p.team.Load()
	s := shares{left: make([]time.Duration, len(t.people)), done: map[uint64][]time.Duration{}}
	need, longest := p.expected(of.expert), time.Duration(0)
	for i := range t.people {
		o := &t.people[i]
		s.left[i] = o.schedule.Capacity(now, now.Add(t.Experts[of.expert].Within), p.used(o))
		if of.set&(1<<i) != 0 {
			longest = max(longest, s.left[i])
		}
	}
	if longest < need { // an answer is not divided
		return false
	}
	for set, work := range l.able {
		s.give(set, work)
	}
	return s.give(of.set, need) == need
}

// shares divide work among people: a maximum flow from sets of people to their hours.
type shares struct {
	left []time.Duration            // hours of people that have no work
	done map[uint64][]time.Duration // by the set of people who may do the work: what each of them does
}

// give gives work to a set of people, who may hand on other work for it. It returns how much of it there is room for.
func (s *shares) give(set uint64, work time.Duration) (given time.Duration) {
	if s.done[set] == nil {
		s.done[set] = make([]time.Duration, len(s.left))
	}
	for more := work; more > 0; given += more {
		seen := uint64(0)
		more = s.push(set, work-given, &seen)
	}
	return given
}

// push finds room for some work of a set along one path, which passes every person once.
func (s *shares) push(set uint64, work time.Duration, seen *uint64) time.Duration {
	for rest := set; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if *seen&(1<<i) != 0 || work == 0 {
			continue
		}
		*seen |= 1 << i
		n := min(work, s.left[i])
		s.left[i] -= n
		for other, done := range s.done {
			if n > 0 {
				break
			}
			n = s.push(other, min(work, done[i]), seen)
			done[i] -= n
		}
		if n > 0 {
			s.done[set][i] += n
			return n
		}
	}
	return 0
}

// maxPrice is far above any loss, and leaves room for other fees.
const maxPrice = 1e6

// Ask returns what the pairs of policies cost by the work that waits, and those that nobody has the hours or the skills for. The tags
// are those of the request. What a pair costs is the same for all policies that are asked for one request. Both results are nil for
// a policy without experts that are people.
func (p *People) Ask(tags []string) func(*costs.Actions) (fees []float64, without []policy.Part) {
	type offer struct {
		price float64
		there bool
	}
	seen := map[string]offer{} // by pair
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
			n := New{Expert: a.Experts[j].Name, Advice: a.Advice[k].Name, Tags: tags}
			if !p.Has(n.Expert) || !a.Available(i) {
				continue
			}
			o, ok := seen[n.pair()]
			if !ok {
				o = offer{min(p.price(n.Expert, now), maxPrice), p.there(wanted{n.Expert, p.team.Load().able(&n)}, now)}
				seen[n.pair()] = o
			}
			if fees[i] = o.price; !o.there {
				without = append(without, policy.Pair(a.Name(i)))
			}
		}
		return fees, without
	}
}
