package builder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pipe/experts/builder/part"
	"pipe/internal/digest"
)

// settleLatency measures every pair, unless that was done for the same experts and the same advice before: in this
// build, or in another one that shares the folder of experts. What was found is written down before a shard depends
// on it, so that a build that goes on leaves the same bytes.
func (p *plan) settleLatency(ctx context.Context, w *work, o *Options) (err error) {
	if p.cfg.Latency.FeePerSecond == 0 || p.latency != nil {
		return nil
	}
	l, err := o.lockExperts(ctx, o.Experts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	record := latencyRecord{Format: latencyFormat, Of: p.latencyKey()}
	file := filepath.Join(o.Experts, "latency-"+digest.Short(record.Of)+".json")
	if record.Pairs, err = readLatency(file, record.Of); err != nil {
		return err
	}
	if p.checkLatency(record.Pairs) != nil { // none, or a damaged file
		if record.Pairs, err = p.measureLatency(ctx, o.Progress); err != nil {
			return fmt.Errorf("measure latency: %w", err)
		}
		if err := record.write(file); err != nil {
			return err
		}
	}
	if err := p.useLatency(record.Pairs); err != nil {
		return err
	}
	return w.write(&manifest{Inputs: p.Inputs, Latency: p.latency})
}

// measureLatency times every pair on one instance at a time, from the loaded instance and what advice shows of it to
// the answer. A repeat is the mean over the instances; repeats of a pair are spread out, so that other load on the
// machine affects all pairs alike.
func (p *plan) measureLatency(ctx context.Context, progress part.Progress) ([]PairLatency, error) {
	batch, err := p.Load(ctx, p.measured())
	if err != nil {
		return nil, err
	}
	shown := make([][]part.AdvicePayload, len(p.Levels))
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

// timePair returns the mean seconds that an expert takes for one instance under one advice.
func (p *plan) timePair(ctx context.Context, expert, level int, batch []part.Instance, shown []part.AdvicePayload) (float64, error) {
	levels := make([][]part.AdvicePayload, len(p.Levels))
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
	for n := p.fit(rows); n < len(rows); n = p.fit(rows) {
		rows = p.spread(n)
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
