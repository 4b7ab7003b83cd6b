package shards

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"pipe/internal/storage"
)

// claimAny claims a shard even if others have claimed it, and returns the attempt.
func (w *Work) claimAny(ctx context.Context, shard int) (attempt int, err error) {
	for attempt = 1; ; {
		ok, err := w.claim(ctx, shard, attempt)
		if ok || err != nil {
			return attempt, err
		}
		// The name is taken: by a run that was killed or is at work.
		for info, err := range w.folder.List(ctx, claimsName+number(shard)+".") {
			if err != nil {
				return 0, err
			}
			if _, n, ok := attemptOf(info.Name, claimsName, ""); ok {
				attempt = max(attempt, n)
			}
		}
		attempt++
	}
}

// claim writes a claim; ok is false if the name is taken.
func (w *Work) claim(ctx context.Context, shard, attempt int) (ok bool, err error) {
	c := claim{Worker: w.machine.Worker, Since: time.Now().UTC().Format(time.RFC3339)}
	err = writeJSON(ctx, w.folder, claimOf(shard, attempt), c, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// beat rewrites a claim while the shard is made, until the function that it returns is called. A beat that fails costs
// nothing but that another worker may do the same shard.
func (w *Work) beat(ctx context.Context, shard, attempt int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := claim{Worker: w.machine.Worker, Since: time.Now().UTC().Format(time.RFC3339)}
		for tick := time.NewTicker(w.o.Lease / 4); ; c.Beat++ {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				_ = writeJSON(ctx, w.folder, claimOf(shard, attempt), c, storage.WriteOptions{})
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// now is the time by the clock of the storage, which also dates claims: clocks of workers may be wrong.
func (w *Work) now(ctx context.Context) (time.Time, error) {
	name := clockName + w.machine.Worker
	if err := w.folder.WriteFile(ctx, name, nil, storage.WriteOptions{}); err != nil {
		return time.Time{}, err
	}
	info, err := w.folder.Stat(ctx, name)
	return info.Modified, errors.Join(err, w.folder.Delete(ctx, name))
}
