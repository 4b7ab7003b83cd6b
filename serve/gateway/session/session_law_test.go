package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// law is a planted law of conversations. The services cache prefixes as real ones do. What it costs to answer well is known, so
// the best choices can be computed.
type law struct {
	goOn   float64 // probability of another turn
	most   int     // turns of a conversation
	loop   float64 // probability that the next turn sends results of tool calls; then the expert stays
	long   float64 // probability of a pause that is longer than any time to live
	first  int     // tokens of the first prompt
	grows  int     // tokens from turn to turn
	sticky float64 // probability that a turn is as hard as the one before
	hard   []float64
	loss   [][]float64 // by hardness and expert, in money
	price  []Price     // by expert
}

const perToken = 4 // bytes

// plainLaw has a cheap expert, one that is better on turns of middling difficulty, and a dear one for hard turns.
func plainLaw() *law {
	million := func(in, read, write float64) Price {
		return Price{In: in / 1e6, Read: read / 1e6, Write: write / 1e6, TTL: 5 * time.Minute}
	}
	return &law{
		goOn: 0.8, most: 24, loop: 0.25, long: 0.08, first: 3000, grows: 900,
		hard:  []float64{0.55, 0.3, 0.15},
		loss:  [][]float64{{0.004, 0.003, 0.002}, {0.020, 0.006, 0.004}, {0.100, 0.060, 0.010}},
		price: []Price{million(0.3, 0.075, 0.3), million(1.25, 0.125, 1.25), million(5, 0.5, 6.25)},
	}
}

// cached is what a service finds of a prefix: whole blocks, and nothing of a short one.
func cached(tokens int) int {
	if tokens < 1024 {
		return 0
	}
	return tokens / 128 * 128
}

func (l *law) tokens(turn int) int { return l.first + l.grows*turn }

// bill is the price of the prompt of a turn at an expert whose cache has the prompt of another turn; -1: nothing.
func (l *law) bill(expert, turn, has int) float64 {
	found := 0
	if has >= 0 {
		found = cached(l.tokens(has))
	}
	return l.price[expert].prompt(float64(l.tokens(turn)), float64(found))
}

// chat is a conversation of the law, drawn before anybody chooses, so that all ways to choose see the same ones.
type chat struct {
	hard []int
	loop []bool // the turn sends results of tool calls
	long []bool // the pause before the turn is long
}

func (l *law) draw(r *rand.Rand) chat {
	var c chat
	for {
		n := len(c.hard)
		c.hard = append(c.hard, l.difficulty(r, c.hard))
		loop := n > 0 && r.Float64() < l.loop
		c.loop, c.long = append(c.loop, loop), append(c.long, n > 0 && !loop && r.Float64() < l.long)
		if n+1 == l.most || r.Float64() >= l.goOn {
			return c
		}
	}
}

func (l *law) difficulty(r *rand.Rand, before []int) int {
	if len(before) > 0 && r.Float64() < l.sticky {
		return before[len(before)-1]
	}
	u := r.Float64()
	for d, p := range l.hard {
		if u -= p; u < 0 {
			return d
		}
	}
	return len(l.hard) - 1
}

// chooser chooses the expert of a turn. has is by expert the turn whose prompt its cache has, -1 for none; last is the expert of the
// turn before.
type chooser func(c *chat, turn, last int, has caches) int

// run lets conversations be answered, and returns the mean of losses and bills.
func (l *law) run(chats []chat, choose chooser) (loss, bill float64) {
	for i := range chats {
		c, last := &chats[i], -1
		has := cold
		for turn := range c.hard {
			if c.long[turn] {
				has = cold
			}
			e := choose(c, turn, last, has)
			if c.loop[turn] && e != last {
				panic(fmt.Sprintf("the expert %d left the tool loop of %d", e, last))
			}
			loss += l.loss[c.hard[turn]][e]
			bill += l.bill(e, turn, has[e])
			last, has[e] = e, turn
		}
	}
	n := float64(len(chats))
	return loss / n, bill / n
}

// eachTurn is the choice of a policy without a planner: the least loss plus the plain price of the prompt.
func (l *law) eachTurn(c *chat, turn, last int, _ caches) int {
	if c.loop[turn] {
		return last
	}
	best, least := 0, math.Inf(1)
	for e := range l.price {
		if v := l.loss[c.hard[turn]][e] + l.price[e].In*float64(l.tokens(turn)); v < least {
			best, least = e, v
		}
	}
	return best
}

// never keeps what was chosen in the first turn.
func (l *law) never(c *chat, turn, last int, has caches) int {
	if turn > 0 {
		return last
	}
	return l.eachTurn(c, turn, last, has)
}

// caches has by expert the turn whose prompt its cache has, -1 for none.
type caches [3]int

var cold = caches{-1, -1, -1}

// optimum is the exact dynamic programme of a law: by turn, the values of the states before the difficulty of the turn is known, by
// the difficulty of the turn before and the caches.
type optimum struct {
	law  *law
	free [][]float64 // of turns in which any expert may answer
	held [][]float64 // of turns in a tool loop
}

func (l *law) optimum() *optimum {
	o := &optimum{law: l, free: make([][]float64, l.most), held: make([][]float64, l.most)}
	for turn := l.most - 1; turn >= 0; turn-- {
		n := cube(turn)
		o.free[turn], o.held[turn] = make([]float64, len(l.hard)*n), make([]float64, len(l.hard)*n)
		for before := range l.hard {
			for at := range n {
				has := unpack(at, turn)
				last := slices.Index(has[:], turn-1)
				for d, p := range l.chances(turn, before) {
					_, v := o.best(turn, d, has)
					o.free[turn][before*n+at] += p * v
					if turn > 0 && last >= 0 {
						o.held[turn][before*n+at] += p * o.value(last, turn, d, has)
					}
				}
			}
		}
	}
	return o
}

// chances are the probabilities of the difficulties of a turn.
func (l *law) chances(turn, before int) (p [3]float64) {
	for d := range p {
		p[d] = l.hard[d]
		if turn > 0 {
			p[d] *= 1 - l.sticky
		}
	}
	if turn > 0 {
		p[before] += l.sticky
	}
	return p
}

// cube is the number of states of the caches before a turn: each has one of the turns before, or nothing.
func cube(turn int) int { return (turn + 1) * (turn + 1) * (turn + 1) }

func unpack(at, turn int) caches {
	n := turn + 1
	return caches{at%n - 1, at/n%n - 1, at/n/n - 1}
}

func (c caches) pack(turn int) int {
	n := turn + 1
	return (c[0] + 1) + n*((c[1]+1)+n*(c[2]+1))
}

// best is the best expert of a turn in which one is free to choose.
func (o *optimum) best(turn, hard int, has caches) (expert int, value float64) {
	value = math.Inf(1)
	for e := range o.law.price {
		if v := o.value(e, turn, hard, has); v < value {
			expert, value = e, v
		}
	}
	return expert, value
}

// value is the cost of choosing an expert now and the best ones later.
func (o *optimum) value(e, turn, hard int, has caches) float64 {
	l, next := o.law, turn+1
	now := l.loss[hard][e] + l.bill(e, turn, has[e])
	if next == l.most {
		return now
	}
	has[e] = turn
	at, none, row := has.pack(next), cold.pack(next), hard*cube(next)
	free := (1-l.long)*o.free[next][row+at] + l.long*o.free[next][row+none]
	return now + l.goOn*((1-l.loop)*free+l.loop*o.held[next][row+at])
}

// choose chooses as the dynamic programme does.
func (o *optimum) choose(c *chat, turn, last int, has caches) int {
	if c.loop[turn] {
		return last
	}
	e, _ := o.best(turn, c.hard[turn], has)
	return e
}
