package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"pipe/costs"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
)

// Ranges calls use for every range in order, with a local folder that has the file that Range has made.
type Ranges func(use func(n int, folder string) error) error

// Gather writes the output of all ranges, with the bytes and the side files of Run. Prepare was called before, or what
// it makes is in the folder Prepared.
func (b *Sharded) Gather(ctx context.Context, ranges Ranges) (*Report, error) {
	start := time.Now()
	r, err := b.gather(ctx, ranges)
	if err != nil {
		return nil, fmt.Errorf("gather costs: %w", err)
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

func (b *Sharded) gather(ctx context.Context, ranges Ranges) (r *Report, err error) {
	out := b.out
	if out.IsRemote() {
		out = storage.File(filepath.Join(b.scratch, out.Base()))
	}
	w, err := openWork(out.Path())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if r, err = b.gatherLocal(ctx, w, ranges); err != nil || out == b.out {
		return r, err
	}
	return r, b.publish(ctx, w, r)
}

// gatherLocal writes the output beside its work folder, as Run does.
func (b *Sharded) gatherLocal(ctx context.Context, w *work, ranges Ranges) (*Report, error) {
	before, err := w.resume(ctx, b.p.Inputs, b.o.Restart)
	if err != nil {
		return nil, err
	}
	if _, err := w.settle(ctx, before); err != nil {
		return nil, err
	}
	r := b.p.report(w.out)
	r.Resumed = r.Shards
	if r.BadList, err = writeBad(w.folder, r.Skipped); err != nil {
		return nil, err
	}
	if err := b.latency(); err != nil {
		return nil, err
	}
	b.o.Progress.Start(int64(b.Rows()), "gather instances")
	defer b.o.Progress.Done()
	var counts chat.Tally
	write := func(shown io.Writer) error {
		return writeTensors(ctx, w.file(finalName), b.p.actions, b.p.options, b.rows(ctx, w, ranges, shown, &counts))
	}
	shown := ""
	if b.p.cfg.Audit {
		r.Audit = w.auditFile()
		if err := writeZipped(w.file(finalAuditName), write); err != nil {
			return nil, err
		}
		if shown, err = costs.FileDigest(ctx, storage.File(w.file(finalAuditName))); err != nil {
			return nil, err
		}
	} else if err := write(io.Discard); err != nil {
		return nil, err
	}
	r.Answers, r.Latency = counts.Of(b.p.session.Parts()), b.p.latency
	return r, b.p.settleOutput(ctx, w, r, shown)
}

// latency reads the times that all workers use.
func (b *Sharded) latency() error {
	if b.p.cfg.Latency.FeePerSecond == 0 || b.p.latency != nil {
		return nil
	}
	of := b.p.latencyKey()
	pairs, err := readLatency(filepath.Join(b.o.Experts, "latency-"+digest.Short(of)+".json"), of)
	if err == nil && pairs == nil {
		err = errors.New("the measured times are not in the work folder")
	}
	if err != nil {
		return err
	}
	return b.p.useLatency(pairs)
}

// rows passes the rows of all ranges on, and what was shown and counted of them.
func (b *Sharded) rows(ctx context.Context, w *work, ranges Ranges, shown io.Writer, counts *chat.Tally) batches {
	return func(add func(*costs.Tensor) error) error {
		return ranges(func(n int, folder string) error {
			from, to := cutRange(n, b.ranges, b.p.shards())
			parts := &work{out: w.out, folder: filepath.Join(folder, "parts")}
			if _, err := atomicfile.MkdirAll(parts.folder); err != nil {
				return err
			}
			if err := b.unpack(ctx, parts, from, to, filepath.Join(folder, packName)); err != nil {
				return err
			}
			for shard := from; shard < to; shard++ {
				if err := b.addShard(ctx, parts, shard, add, shown, counts); err != nil {
					return err
				}
			}
			return os.RemoveAll(parts.folder)
		})
	}
}

func (b *Sharded) addShard(ctx context.Context, w *work, shard int, add func(*costs.Tensor) error, shown io.Writer, counts *chat.Tally) error {
	t, err := w.load(ctx, b.p, shard)
	if err != nil {
		return err
	}
	some, err := w.loadCounts(b.p, shard)
	if err != nil {
		return err
	}
	counts.AddAll(some)
	if b.p.cfg.Audit {
		if err := w.copyAudit(shown, shard); err != nil {
			return err
		}
	}
	b.o.Progress.Add(int64(t.Len()))
	return add(t)
}

// publish uploads the output and its side files, the output last.
func (b *Sharded) publish(ctx context.Context, w *work, r *Report) error {
	folder, err := b.out.Dir().Folder(ctx)
	if err != nil {
		return err
	}
	beside := folder.Sub(workFolder(b.out.Base()))
	if err := beside.Upload(ctx, manifestName, w.file(manifestName)); err != nil {
		return err
	}
	if r.BadList != "" {
		if err := beside.Upload(ctx, badListName, r.BadList); err != nil {
			return err
		}
		r.BadList = beside.Location(badListName).String()
	}
	if r.Audit != "" {
		if err := folder.Upload(ctx, filepath.Base(r.Audit), r.Audit); err != nil {
			return err
		}
		r.Audit = folder.Location(filepath.Base(r.Audit)).String()
	}
	r.Local, r.File = r.File, b.out.String()
	return folder.Upload(ctx, b.out.Base(), w.out)
}
