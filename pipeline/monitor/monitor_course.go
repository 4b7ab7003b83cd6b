package monitor

import (
	"errors"
	"math"
)

// course has the means of outcomes over time: blocks of Every known outcomes each, the last one perhaps of fewer. When there are too
// many blocks, each two become one, so its size is bounded.
type course struct {
	Every  int64   `json:"every"`
	Blocks []block `json:"blocks"`
}

// block sums up successive outcomes.
type block struct {
	N    int64   `json:"n"`
	Mean float64 `json:"mean"`
	Away float64 `json:"away"` // sum of the squared distances to the mean
	Last int64   `json:"last"` // time of the last one, or NoTime
}

// The size of blocks at the start, and the most blocks.
const (
	leastEvery = 20
	mostBlocks = 30
)

func (c *course) add(loss float64, at int64) {
	c.Every = max(c.Every, leastEvery)
	if n := len(c.Blocks); n == 0 || c.Blocks[n-1].N >= c.Every {
		if n == mostBlocks {
			c.halve()
		}
		c.Blocks = append(c.Blocks, block{})
	}
	b := &c.Blocks[len(c.Blocks)-1]
	b.join(block{N: 1, Mean: loss, Last: at})
}

// halve joins each two blocks.
func (c *course) halve() {
	for i := range mostBlocks / 2 {
		c.Blocks[i] = c.Blocks[2*i]
		c.Blocks[i].join(c.Blocks[2*i+1])
	}
	c.Blocks, c.Every = c.Blocks[:mostBlocks/2], 2*c.Every
}

// join adds later outcomes.
func (b *block) join(later block) {
	n := b.N + later.N
	d := later.Mean - b.Mean
	b.Away += later.Away + d*d*float64(b.N)*float64(later.N)/float64(n)
	b.Mean += d * float64(later.N) / float64(n)
	b.N, b.Last = n, max(b.Last, later.Last)
	if b.N == later.N {
		b.Last = later.Last
	}
}

// interval holds the mean with a probability of about 95%, if outcomes are independent; ok is false for fewer than two.
func (b *block) interval() (low, high float64, ok bool) {
	if b.N < 2 {
		return 0, 0, false
	}
	half := 1.96 * math.Sqrt(b.Away/float64(b.N-1)/float64(b.N))
	return b.Mean - half, b.Mean + half, true
}

// status are the blocks, by the number of their last outcome. A state of an older program began to count later.
func (c *course) status(known int64) []BlockStatus {
	last := known
	for _, b := range c.Blocks {
		last -= b.N
	}
	var out []BlockStatus
	for _, b := range c.Blocks {
		last += b.N
		s := BlockStatus{Outcomes: b.N, Last: last, Mean: b.Mean, Time: timeText(b.Last)}
		if low, high, ok := b.interval(); ok {
			s.Low, s.High = &low, &high
		}
		out = append(out, s)
	}
	return out
}

// check returns an error for blocks that contradict each other or the number of outcomes.
func (c *course) check(known int64) error {
	total := int64(0)
	for _, b := range c.Blocks {
		if b.N < 1 || b.N > c.Every || !(math.Abs(b.Mean) <= mostLoss) || !(b.Away >= 0) || math.IsInf(b.Away, 0) || b.N > known-total {
			return errors.New("the means of outcomes over time contradict each other")
		}
		total += b.N
	}
	if len(c.Blocks) > mostBlocks || len(c.Blocks) > 0 && (c.Every < leastEvery || c.Every > math.MaxInt64/4) {
		return errors.New("the means of outcomes over time have another form")
	}
	return nil
}
