package shards

import "context"

// Missing lists the shards that are not done.
func (w *Work) Missing(ctx context.Context) (missing []int, err error) {
	done := make([]bool, w.manifest.Shards)
	for info, err := range w.folder.List(ctx, doneName) {
		if err != nil {
			return nil, err
		}
		if shard, end, ok := shardOf(info.Name, doneName); ok && end == ".json" && shard < len(done) {
			done[shard] = true
		}
	}
	for shard, is := range done {
		if !is {
			missing = append(missing, shard)
		}
	}
	return missing, nil
}

// Alive reports whether any worker that is at a shard has given a sign of life within the time of the lease.
func (w *Work) Alive(ctx context.Context) (bool, error) {
	slots, err := w.scan(ctx)
	if err != nil {
		return false, err
	}
	now, err := now(ctx, w.folder, w.machine.Worker)
	if err != nil {
		return false, err
	}
	for _, s := range slots {
		if !s.done && s.claim > 0 && !silent(s.alive, now, w.o.Lease) {
			return true, nil
		}
	}
	return false, nil
}

// Stops reports whether every other shard would have an error too.
func (w *Work) Stops(err error) bool { return w.stops(err) }
