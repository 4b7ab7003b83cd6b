package shards

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"
)

// RunAlone is Run for workers that a scheduler gives shards to. While another worker makes the shard, it waits until that
// worker is done, or has given no sign of life for the time of the lease. It does not wait for workers with the same
// Options.Team: a scheduler gives a shard to a second worker of a team only if it has lost the first.
func (w *Work) RunAlone(ctx context.Context, shard int) (d *Done, made bool, err error) {
	for wait := firstWait; ; wait = min(2*wait, w.o.Lease/8) {
		if d, err = readDone(ctx, w.folder, w.of, shard); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return d, false, err
		}
		attempt, free, err := w.turn(ctx, shard)
		if err != nil {
			return nil, false, err
		}
		if free {
			mine, err := take(ctx, w.folder, claimOf(shard, attempt), w.machine.Worker)
			if err != nil {
				return nil, false, err
			}
			if mine {
				return w.claimed(ctx, shard, attempt)
			}
			continue // another worker was faster
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// claimed makes a shard that has just been claimed, unless it was done just before that.
func (w *Work) claimed(ctx context.Context, shard, attempt int) (*Done, bool, error) {
	d, err := readDone(ctx, w.folder, w.of, shard)
	if errors.Is(err, fs.ErrNotExist) {
		return w.attempt(ctx, shard, attempt)
	}
	return d, false, errors.Join(err, w.folder.Delete(ctx, claimOf(shard, attempt)))
}

// turn returns the next attempt at a shard. free is false while a worker of another team makes it.
func (w *Work) turn(ctx context.Context, shard int) (attempt int, free bool, err error) {
	last, alive := 0, time.Time{}
	for info, err := range w.folder.List(ctx, claimsName+number(shard)+".") {
		if err != nil {
			return 0, false, err
		}
		if _, n, ok := attemptOf(info.Name, claimsName, ""); ok && n > last {
			last, alive = n, info.Modified
		}
	}
	if last == 0 {
		return 1, true, nil
	}
	if failed, err := w.exists(ctx, failedOf(shard, last)); err != nil || failed {
		return last + 1, failed, err
	}
	var c claim
	if err := w.read(ctx, claimOf(shard, last), &c); err != nil {
		return 0, false, err
	}
	if c.Worker == "" || w.o.Team != "" && strings.HasPrefix(c.Worker, w.o.Team+".") { // gone meanwhile, or lost
		return last + 1, true, nil
	}
	at, err := now(ctx, w.folder, w.machine.Worker)
	return last + 1, silent(alive, at, w.o.Lease), err
}
