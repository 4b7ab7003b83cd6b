package build

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pipe/costs/builder/part"
)

// measureLatency times every pair on one instance at a time, from the loaded instance and what advice shows of it to
// the answer. A repeat is the mean over the instances; repeats of a pair lie apart, such that what else the machine does
// hits all pairs alike.
func (p *plan) measureLatency(ctx context.Context, progress part.Progress) ([]PairLatency, error) {
	batch, err := p.Source.Load(ctx, p.measured())
	if err != nil {
		return nil, err
	}
	shown := make([][]part.Shown, len(p.Levels))
	for k := range p.Levels {
		if shown[k], err = p.show(ctx, k, batch); err != nil {
			return nil, err
		}
	}
	pairs := p.timedPairs()
	progress.Start(int64(len(pairs)*(1+p.cfg.Latency.Repeats)), "measuring pairs")
	defer progress.Done()
	times := make([][]float64, len(pairs))
	for r := -1; r < p.cfg.Latency.Repeats; r++ {
		for i, pair := range pairs {
			some := batch
			if r < 0 {
				some = batch[:1] // warms up
			}
			t, err := p.timePair(ctx, pair[0], pair[1], some, shown[pair[1]])
			if err != nil {
				return nil, err
			}
			if r >= 0 {
				times[i] = append(times[i], t)
			}
			progress.Add(1)
		}
	}
	list := make([]PairLatency, len(pairs))
	for i, pair := range pairs {
		list[i] = PairLatency{Expert: p.Experts[pair[0]].Name, Advice: p.cfg.Advice[pair[1]].Name, Seconds: median(times[i])}
	}
	return list, nil
}

// median is the middle one of some numbers, the upper of two.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// timedPairs lists expert and advice of the pairs whose time can be measured.
func (p *plan) timedPairs() (pairs [][2]int) {
	for j, e := range p.Experts {
		for k, takes := range e.Takes {
			if takes && timed(e) {
				pairs = append(pairs, [2]int{j, k})
			}
		}
	}
	return pairs
}

// timePair returns the mean seconds that an expert takes for one instance under one advice.
func (p *plan) timePair(ctx context.Context, expert, level int, batch []part.Instance, shown []part.Shown) (float64, error) {
	levels := make([][]part.Shown, len(p.Levels))
	var sum time.Duration
	for n := range batch {
		levels[level] = shown[n : n+1]
		begin := time.Now()
		if _, err := p.Experts[expert].Predict(ctx, batch[n:n+1], levels); err != nil {
			return 0, fmt.Errorf("expert %q: %w", p.Experts[expert].Name, err)
		}
		sum += time.Since(begin)
	}
	return sum.Seconds() / float64(len(batch)), nil
}

// measured returns the rows that are asked about: as many as the configuration says, or as memory holds.
func (p *plan) measured() []int {
	rows := p.spread(p.cfg.Latency.Instances)
	if b, ok := p.Source.(part.BatchLimiter); ok {
		for n := b.Fit(rows); n < len(rows); n = b.Fit(rows) {
			rows = p.spread(n)
		}
	}
	return rows
}

// spread returns n rows of the source, or all of them, at equal distances.
func (p *plan) spread(n int) []int {
	all := len(p.Source.Entries())
	rows := make([]int, min(n, all))
	for i := range rows {
		rows[i] = i * all / len(rows)
	}
	return rows
}
