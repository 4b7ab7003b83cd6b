package shards

import (
	"context"
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
	return take(ctx, w.folder, claimOf(shard, attempt), w.machine.Worker)
}
