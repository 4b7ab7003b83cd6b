package builder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// Sharded is a build whose rows many machines make: every one opens the same configuration, and makes some ranges of the
// builder's shards. The gathered output has the bytes of Run.
type Sharded struct {
	p       *plan
	o       Options
	out     storage.Location
	ranges  int
	scratch string
	remove  func() error
}

// Shares is what the workers of a Sharded have in common.
type Shares struct {
	Ranges  int             // into which the rows are cut
	Workers int             // that may ask services at the same time; each takes its share of the limits
	Answers *storage.Folder // where answers of chat models are kept; nil: as in Run
	Lease   time.Duration   // after which a worker that asks for an answer counts as lost; 0, or more than 20 s: 20 s
	Divide  part.Divider    // shares what is done before the first row; nil: every worker does all of it
	Ledger  *storage.Folder // where slices of the budget are claimed; nil: as in Run
}

// OpenSharded makes every part of a configuration, as Run does. The caller closes it.
func OpenSharded(ctx context.Context, cfg part.Config, o Options, s Shares) (_ *Sharded, err error) {
	defer titled(&err, "build costs")
	b := &Sharded{o: o, ranges: s.Ranges}
	if b.scratch, b.remove, err = atomicfile.TempFolder("", "pipe-costs-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.remove())
		}
	}()
	if o.Budget != nil && s.Ledger != nil {
		if err := o.Budget.Share(ctx, s.Ledger); err != nil {
			return nil, err
		}
	}
	b.o.Experts, b.o.divide = filepath.Join(b.scratch, "experts"), s.Divide
	b.o.share = func(q *chat.Session) {
		if s.Answers != nil {
			q.Share(s.Answers, s.Workers, s.Lease)
		}
	}
	if b.p, b.out, err = prepare(ctx, &cfg, &b.o); err != nil {
		return nil, err
	}
	if n := b.p.shards(); s.Ranges > n {
		err = &TooManyError{s.Ranges, n, cfg.Shard}
		return nil, errors.Join(err, b.p.Close())
	}
	return b, nil
}

// SourcePass returns the pass that the source of a configuration has made before the first row, nil if there is none.
func SourcePass(ctx context.Context, cfg part.Config, o Options) (pass *part.Pass, err error) {
	defer titled(&err, "build costs")
	found := errors.New("the pass is found")
	o.divide = func(_ context.Context, p part.Pass) ([][]byte, error) {
		pass = &p
		return nil, found
	}
	if _, err := o.complete(ctx, &cfg); err != nil {
		return nil, err
	}
	p := blankPlan(&cfg, &o)
	if err = p.makeSource(ctx); errors.Is(err, found) {
		err = nil
	}
	return pass, errors.Join(err, p.Close())
}

// TooManyError says that there are too few rows for the number of ranges.
type TooManyError struct{ Ranges, Most, Shard int }

// Error names the numbers.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d shards are too many: the builder works on %d instances at a time, so there are at most %d", e.Ranges, e.Shard, e.Most)
}

// Hint returns what to change.
func (e *TooManyError) Hint() string {
	return fmt.Sprintf("use --shards %d, or a smaller shard in the configuration", e.Most)
}

// Close frees the parts, and gives back what is left of the budget.
func (b *Sharded) Close() error {
	return errors.Join(b.o.Budget.Return(context.Background()), b.p.Close(), b.remove())
}

// Out returns the path or URL of the output file.
func (b *Sharded) Out() string { return b.out.String() }

// Rows returns the number of instances.
func (b *Sharded) Rows() int { return len(b.p.Source.Entries()) }

// Inputs returns the digests of everything that the rows depend on. One stands for all images.
func (b *Sharded) Inputs() map[string]string {
	inputs := map[string]string(maps.Clone(b.p.Inputs))
	maps.DeleteFunc(inputs, func(name, _ string) bool { return strings.HasPrefix(name, part.ImagePrefix) })
	return inputs
}

// Prepare makes what all rows need in the folder that Prepared returns: experts that learn, vectors of texts, times.
func (b *Sharded) Prepare(ctx context.Context) (files []string, err error) {
	rows := make([]int, b.Rows())
	for i := range rows {
		rows[i] = i
	}
	w := &work{out: b.out.Path(), folder: b.scratch}
	if err := b.p.prepare(ctx, w, rows, &b.o); err != nil {
		return nil, err
	}
	if err := b.p.settleLatency(ctx, w, &b.o); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(b.o.Experts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, f := range list {
		if f.Type().IsRegular() && f.Name() != lockName && !strings.HasPrefix(f.Name(), ".") {
			files = append(files, f.Name())
		}
	}
	return files, nil
}

// Prepared returns the local folder of what Prepare makes. It exists.
func (b *Sharded) Prepared(ctx context.Context) (string, error) {
	_, err := atomicfile.MkdirAll(b.o.Experts)
	return b.o.Experts, err
}

// NeedsPreparing reports whether there is anything to prepare.
func (b *Sharded) NeedsPreparing() bool {
	shared := part.Opened[part.Preparer](b.p.Build)
	for _, e := range b.p.Experts {
		if prepares(e) {
			return true
		}
	}
	return len(shared) > 0 || b.p.cfg.Latency.FeePerSecond != 0
}

// Range makes the rows of one range in an empty local folder. It returns the file that it has written there, which
// Gather reads, and what was counted. The file has the same bytes in every run. It is safe for concurrent use.
func (b *Sharded) Range(ctx context.Context, n int, folder string) (file string, counts map[string]int64, err error) {
	from, to := cutRange(n, b.ranges, b.p.shards())
	w := &work{out: b.out.String(), folder: filepath.Join(folder, "parts")}
	if _, err := atomicfile.MkdirAll(w.folder); err != nil {
		return "", nil, err
	}
	run, rows := &chat.Tally{}, int64(0)
	for shard := from; shard < to; shard++ {
		rows += int64(len(b.p.rows(shard)))
	}
	// The order is another in every run: two that make the same range at once ask for different things, and each finds the
	// answers of the other, instead of waiting for them.
	order := rand.Perm(to - from)
	err = parallel.First(ctx, b.p.Workers, to-from, func(ctx context.Context, i int) error {
		return b.p.makeShard(chat.WithRun(ctx, run), w, from+order[i], &b.o)
	})
	if err != nil {
		return "", nil, err
	}
	counts = map[string]int64{"rows": rows}
	for _, c := range run.Of(b.p.session.Parts()) {
		counts["asked"] += c.Asked
		counts["kept"] += c.Cached
		counts["spent_millionths"] += int64(c.Spent * 1e6)
	}
	err = b.pack(w, from, to, filepath.Join(folder, packName))
	return packName, counts, errors.Join(err, os.RemoveAll(w.folder))
}

// cutRange returns the shards of one range of some: as many as in others, or one more.
func cutRange(n, ranges, shards int) (from, to int) {
	return n * shards / ranges, (n + 1) * shards / ranges
}
