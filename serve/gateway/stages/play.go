package stages

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"pipe/costs/observe"
	"pipe/models/cascade"
)

// Next decides in any state of a cascade, as [cascade.Decider.NextAt] does at the prices of the moment. Only the pairs in can may be
// asked, or were asked and may be accepted.
type Next func(ctx context.Context, can []bool, rows cascade.Rows) (*cascade.Decisions, error)

// Asked is what came of asking a pair.
type Asked struct {
	Pair   int             // that answered; it may be another one than the pair that was asked, see [Settings.Ask]
	Answer *observe.Answer // nil: the pair failed
	Sent   bool            // its answer was passed on as it came, so nothing is left to decide
	Stop   bool            // no other pair may be asked: the caller left, or time or calls are used up
}

// Settings say how a cascade is played for one request.
type Settings struct {
	Info     *cascade.Info
	Next     Next
	Features []float32 // of the request, as many as Info.Dim
	// Can reports whether a pair could be asked now.
	Can func(pair int) bool
	// Ask asks a pair. With last, nothing is decided after its answer, unless it fails. inHand is whether another answer is at
	// hand. A hedge may let another pair answer.
	Ask func(ctx context.Context, pair int, last, inHand bool) Asked
	// Live says that the answer of a stage that is certain to be the last is passed on as it comes: last is never true without.
	Live bool
}

// Play is a cascade that is played for one request.
type Play struct {
	settings Settings
	executed []bool
	observed []float32
	failed   []bool
	open     []bool // pairs that could be asked at first
	Order    []int  // pairs that answered, in order
	Chosen   bool   // every pair of Order was asked because the policy chose it, and answered
	Decided  bool   // the policy accepted the answer by a decision, because it chose so or nothing else was left
	Unknown  []int  // by fact: answers of which it was not known
}

// New returns a play in the empty state.
func New(s Settings) *Play {
	pairs := s.Info.Actions.Len()
	p := &Play{settings: s, executed: make([]bool, pairs), failed: make([]bool, pairs), observed: make([]float32, s.Info.Columns()), Chosen: true, Unknown: make([]int, len(s.Info.Facts))}
	for i := range p.observed {
		p.observed[i] = float32(math.NaN())
	}
	p.open = make([]bool, pairs)
	for i := range p.open {
		p.open[i] = s.Can(i)
	}
	return p
}

// End says how a play ended. Metrics have it.
type End string

// The ends.
const (
	Accepted End = "accepted" // the policy accepted an answer
	Live     End = "live"     // the last answer was passed on as it came
	InHand   End = "in_hand"  // an answer was returned because no other one could be asked, or none came in time
	None     End = "none"     // no pair answered
	Instead  End = "instead"  // the guarantee did not accept the answer, and something else took over; whoever plays says so
)

// Run plays to the end, beginning with a pair. It returns the pair whose answer is accepted, -1 for none. err is why the policy could
// not decide; then the last answer is accepted.
func (p *Play) Run(ctx context.Context, first int) (pair int, end End, err error) {
	for next := first; ; {
		a := p.settings.Ask(ctx, next, p.settings.Live && Last(p.settings.Info, p.executed, next), len(p.Order) > 0)
		switch {
		case a.Sent:
			p.Order, p.Chosen = append(p.Order, a.Pair), p.Chosen && a.Pair == next
			return a.Pair, Live, nil
		case a.Answer != nil:
			p.see(a.Pair, a.Answer)
			p.Chosen = p.Chosen && a.Pair == next
		default:
			p.failed[next], p.Chosen = true, false
		}
		if a.Stop {
			return p.best(ctx)
		}
		free := true
		next, free, err = p.step(ctx)
		switch {
		case err != nil || next < 0:
			at, end, failed := p.best(ctx)
			return at, end, errors.Join(err, failed)
		case p.executed[next]:
			if p.Decided = true; free {
				return next, Accepted, nil
			}
			return next, InHand, nil
		}
	}
}

// Last reports whether only acceptance is left after a pair answers, in the state after others were executed; nil: none was.
func Last(info *cascade.Info, executed []bool, pair int) bool {
	var then []int
	for i := range info.Actions.Len() {
		if i == pair || executed != nil && executed[i] {
			then = append(then, i)
		}
	}
	return len(then) >= info.Stages || !slices.ContainsFunc(info.States, func(s []int) bool { return slices.Equal(s, then) })
}

// see notes the answer of a pair.
func (p *Play) see(pair int, a *observe.Answer) {
	facts := p.settings.Info.Facts
	row := p.row(pair)
	observe.Fill(row, facts, a)
	for i, v := range row {
		if v != v {
			p.Unknown[i]++
		}
	}
	p.executed[pair], p.Order = true, append(p.Order, pair)
}

// row are the facts of a pair.
func (p *Play) row(pair int) []float32 {
	n := len(p.settings.Info.Facts)
	return p.observed[pair*n : (pair+1)*n : (pair+1)*n]
}

// step decides in the state: the pair to accept or to ask; -1: none is left. free is false where the policy accepts an answer only
// because a pair failed, or can be asked no more.
func (p *Play) step(ctx context.Context) (pair int, free bool, err error) {
	can, before, lost := slices.Clone(p.executed), slices.Clone(p.executed), false
	for i := range can {
		can[i] = can[i] || !p.failed[i] && p.settings.Can(i)
		before[i] = before[i] || p.open[i]
		lost = lost || before[i] && !can[i]
	}
	if !slices.Contains(can, true) {
		return -1, false, nil
	}
	would := -1
	if lost && len(p.Order) > 0 {
		if would, err = p.choose(ctx, before); err != nil {
			return -1, false, err
		}
	}
	pair, err = p.choose(ctx, can)
	return pair, would < 0 || p.executed[would], err
}

// choose decides among pairs that can be asked or accepted.
func (p *Play) choose(ctx context.Context, can []bool) (pair int, err error) {
	d, err := p.decide(ctx, can)
	if err != nil {
		return -1, err
	}
	pair, _ = d.Possible(0, len(can), func(i int) bool { return can[i] })
	return pair, nil
}

// State are the pairs that answered, with what is seen of their answers.
func (p *Play) State() cascade.Rows {
	return cascade.Rows{N: 1, Features: p.settings.Features, Observed: p.observed, Executed: p.executed}
}

// decide decides also when the time for calls is used up: that takes no time, and an answer at hand is chosen by it.
func (p *Play) decide(ctx context.Context, can []bool) (*cascade.Decisions, error) {
	return p.settings.Next(context.WithoutCancel(ctx), can, p.State())
}

// best accepts the best of the answers at hand, or the last one where the policy cannot compare them.
func (p *Play) best(ctx context.Context) (pair int, end End, err error) {
	switch len(p.Order) {
	case 0:
		return -1, None, nil
	case 1:
		return p.Order[0], InHand, nil
	}
	if pair, err = p.choose(ctx, p.executed); pair >= 0 {
		p.Decided = true
		return pair, InHand, nil
	}
	return p.Order[len(p.Order)-1], InHand, err
}

// Facts are what was seen of the answer of a pair, as a JSON object for logs: null where it was not known. It is "" for an answer that
// was passed on as it came, and if it is longer than a log takes.
func (p *Play) Facts(pair int) string {
	const most = 4096 // bytes
	if !p.executed[pair] {
		return ""
	}
	facts := make(map[string]any, len(p.settings.Info.Facts))
	for i, v := range p.row(pair) {
		switch f := p.settings.Info.Facts[i]; {
		case v != v:
			facts[f.Name] = nil
		case f.Values != nil:
			facts[f.Name] = f.Values[int(v)]
		default:
			facts[f.Name] = v
		}
	}
	text, err := json.Marshal(facts)
	if err != nil || len(text) > most { // an infinite number is none that can be written
		return ""
	}
	return string(text)
}
