package shards

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"pipe/internal/storage"
)

// claim is the content of a claim. Its age comes from the clock of the storage, not from that of a worker.
type claim struct {
	Worker string `json:"worker"`
	Since  string `json:"since"` // by the clock of the worker; for people
	Beat   int    `json:"beat"`
}

func newClaim(worker string) claim {
	return claim{Worker: worker, Since: time.Now().UTC().Format(time.RFC3339)}
}

// take writes a claim; ok is false if the name is taken.
func take(ctx context.Context, folder *storage.Folder, name, worker string) (ok bool, err error) {
	err = writeJSON(ctx, folder, name, newClaim(worker), storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// beat rewrites a claim as a sign of life until the returned function is called. If a beat fails, the worst is that another
// worker does the same work.
func beat(ctx context.Context, folder *storage.Folder, name, worker string, lease time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := newClaim(worker)
		tick := time.NewTicker(lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if ctx.Err() != nil {
					return // both were ready: a beat would keep those waiting who stop it
				}
				c.Beat++
				_ = writeJSON(ctx, folder, name, c, storage.WriteOptions{})
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// silent reports whether the last sign of life is so old that the worker counts as lost. Stores may cut times to seconds. A
// time far in the future means that the clock of the store was set back: a live worker soon gives a new sign.
func silent(alive, now time.Time, lease time.Duration) bool {
	return now.Sub(alive).Abs() > lease+time.Second
}

// now is the time by the clock of the storage, which also dates claims: clocks of workers may be wrong.
func now(ctx context.Context, folder *storage.Folder, worker string) (time.Time, error) {
	name := clockName + worker
	if err := folder.WriteFile(ctx, name, nil, storage.WriteOptions{}); err != nil {
		return time.Time{}, err
	}
	info, err := folder.Stat(ctx, name)
	return info.Modified, errors.Join(err, folder.Delete(ctx, name))
}
