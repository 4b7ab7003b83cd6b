package shards

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Summary says what a worker did.
type Summary struct {
	Work    string           `json:"work"`
	Shards  int              `json:"shards"` // of the work
	Made    []int            `json:"made"`   // by this worker
	Found   int              `json:"found"`  // asked for, and done before or by another worker
	Counts  map[string]int64 `json:"counts"` // of the shards that were made
	Seconds float64          `json:"seconds"`
}

// add counts a shard.
func (s *Summary) add(d *Done, made bool) {
	if !made {
		s.Found++
		return
	}
	s.Made = append(s.Made, d.Shard)
	for name, n := range d.Counts {
		s.Counts[name] += n
	}
}

func (w *Work) summary() *Summary {
	return &Summary{Work: w.folder.String(), Shards: w.manifest.Shards, Made: []int{}, Counts: map[string]int64{}}
}

// RunAll makes some shards, one after the other, even if others have claimed them.
func (w *Work) RunAll(ctx context.Context, shards []int) (*Summary, error) {
	start, sum := time.Now(), w.summary()
	for _, shard := range shards {
		d, made, err := w.Run(ctx, shard)
		if err != nil {
			return nil, err
		}
		sum.add(d, made)
	}
	sum.Seconds = time.Since(start).Seconds()
	return sum, nil
}

// Next makes the shards that no worker has claimed, one after the other, until all are done. It waits for the claimed ones,
// and takes a shard over whose worker has given no sign of life for the time of the lease. Shards that failed too often
// give a *FailedError in the end.
func (w *Work) Next(ctx context.Context) (*Summary, error) {
	start, sum := time.Now(), w.summary()
	n := &next{Work: w, sum: sum, at: rand.IntN(w.manifest.Shards)}
	for wait := firstWait; ; wait = min(2*wait, w.o.Lease/8) {
		slots, err := w.scan(ctx)
		if err != nil {
			return nil, err
		}
		now, err := n.clock(ctx, slots)
		if err != nil {
			return nil, err
		}
		worked, err := n.pass(ctx, slots, now)
		if err != nil {
			return nil, err
		}
		if worked {
			wait = firstWait
			continue
		}
		open, lost := n.remaining(slots, now)
		switch {
		case open == 0 && len(lost) > 0:
			return nil, &FailedError{w.folder.String(), lost, w.o.Tries, n.last}
		case open == 0:
			sum.Seconds = time.Since(start).Seconds()
			return sum, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next is the state of one Next.
type next struct {
	*Work
	sum  *Summary
	at   int // where the next pass begins: workers begin at different shards, so that few want the same
	last error
}

// pass makes shards that are free, until a claim is lost: then the names are out of date.
func (n *next) pass(ctx context.Context, slots []slot, now time.Time) (worked bool, err error) {
	for range slots {
		shard := n.at
		n.at = (n.at + 1) % len(slots)
		s := slots[shard]
		if s.done || s.failed >= n.o.Tries || s.claim > 0 && !n.expired(s, now) {
			continue
		}
		mine, err := n.try(ctx, shard, s.attempts+1)
		if err != nil {
			return true, err
		}
		if worked = true; !mine {
			n.at = rand.IntN(len(slots)) // the one who was first goes on to the next shard
			return true, nil
		}
		slots[shard].done = true // or failed, as the next scan will show
	}
	return worked, nil
}

// clock returns the time of the storage if that matters: where every shard that is left is claimed.
func (n *next) clock(ctx context.Context, slots []slot) (at time.Time, err error) {
	claimed := false
	for _, s := range slots {
		if !s.done && s.claim == 0 && s.failed < n.o.Tries {
			return at, nil
		}
		claimed = claimed || !s.done && s.claim > 0
	}
	if !claimed {
		return at, nil
	}
	return now(ctx, n.folder, n.machine.Worker)
}

// expired reports whether a claim has given no sign of life for the time of the lease. It is false if clock has returned no
// time.
func (n *next) expired(s slot, now time.Time) bool {
	return !now.IsZero() && silent(s.alive, now, n.o.Lease)
}

// try claims a shard and makes it. mine is false if another worker has it. A failure is no error as long as others may
// succeed.
func (n *next) try(ctx context.Context, shard, attempt int) (mine bool, err error) {
	if mine, err = n.claim(ctx, shard, attempt); err != nil || !mine {
		return mine, err
	}
	done, err := n.exists(ctx, doneOf(shard))
	if err != nil {
		return true, err
	}
	if done { // its claim was gone, and the names were read before that
		n.sum.Found++
		return false, n.folder.Delete(ctx, claimOf(shard, attempt))
	}
	d, made, err := n.attempt(ctx, shard, attempt)
	var lost *unrecordedError
	switch {
	case err == nil:
		n.sum.add(d, made)
	case ctx.Err() != nil || n.stops(err) || errors.As(err, &lost): // a failure that is not counted would be repeated for ever
		return true, err
	default:
		n.last = err
		n.o.Progress.Note("shard %d, attempt %d: %v", shard, attempt, err)
	}
	return true, nil
}

// remaining counts shards that may still be done, and lists those that failed too often. A worker that was killed has left
// its claim on one of them, and no other worker removes it.
func (n *next) remaining(slots []slot, now time.Time) (open int, lost []int) {
	for shard, s := range slots {
		switch {
		case s.done:
		case s.failed >= n.o.Tries && (s.claim == 0 || n.expired(s, now)):
			lost = append(lost, shard)
		default:
			open++
		}
	}
	return open, lost
}
