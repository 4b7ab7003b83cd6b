package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// Report describes what a build did.
type Report struct {
	File      string  `json:"file"`
	Digest    string  `json:"digest"`          // of the file
	Audit     string  `json:"audit,omitempty"` // file with what advice showed, if that is kept
	Instances int     `json:"instances"`
	Train     int     `json:"train"`
	Val       int     `json:"val"`
	Test      int     `json:"test"`
	Groups    int     `json:"groups,omitempty"`  // distinct groups, where the instances have any
	Divided   int     `json:"divided,omitempty"` // of these, groups that a split column divides
	Actions   int     `json:"actions"`
	Features  string  `json:"features"`
	Dim       int     `json:"dim"`
	Shards    int     `json:"shards"`
	Resumed   int     `json:"resumed"` // shards that were done before
	Seconds   float64 `json:"seconds"` // of this run
	Local     string  `json:"-"`       // local copy of the file until the build is closed, where the file is remote

	Skipped []part.BadImage    `json:"skipped,omitempty"`  // images that were left out, by id
	BadList string             `json:"bad_list,omitempty"` // file that lists them, too
	Answers []chat.AnswerCount `json:"answers,omitempty"`  // of parts that ask a chat model
	Latency []PairLatency      `json:"latency,omitempty"`  // of every pair, where time is a fee
	Facts   []string           `json:"facts,omitempty"`    // of answers, that the tensor has
}

// Run builds the cost tensor of a configuration, or resumes an earlier Run of
// the same configuration with the same output. A build that was stopped, killed
// or failed and was then resumed leaves the same bytes as an uninterrupted one.
//
// Finished shards are kept beside the output in OUT.work. Inputs that differ
// from those of the shards give a *ChangedError, bad input data a
// *costs.DataError. When ctx ends, Run waits for the native calls in flight and
// returns ctx's error.
func Run(ctx context.Context, cfg part.Config, o Options) (_ *Report, err error) {
	defer titled(&err, "build costs")
	start := time.Now()
	r, err := run(ctx, &cfg, &o)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

func run(ctx context.Context, cfg *part.Config, o *Options) (*Report, error) {
	p, out, err := prepare(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	r, err := p.run(ctx, out.Path(), o)
	return r, errors.Join(err, p.Close())
}

// prepare makes the plan and determines the output. It writes nothing next to
// the output, except for the list of bad images if they are the error.
func prepare(ctx context.Context, cfg *part.Config, o *Options) (p *plan, out storage.Location, err error) {
	if out, err = o.complete(ctx, cfg); err != nil {
		return nil, out, err
	}
	o.Progress.Start(-1, "read inputs")
	defer o.Progress.Done()
	p, err = newPlan(ctx, cfg, o)
	return p, out, keepBad(err, out)
}

// run does the work under the lock of the work folder.
func (p *plan) run(ctx context.Context, out string, o *Options) (_ *Report, err error) {
	w, err := openWork(out)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	before, err := w.resume(ctx, p.Inputs, o.Restart)
	if err != nil {
		return nil, err
	}
	if before != nil {
		if err := p.useLatency(before.Latency); err != nil {
			return nil, fmt.Errorf("resume %q: %s is damaged: latency: %w; start over with --restart", w.folder, manifestName, err)
		}
	}
	r := p.report(out)
	if p.cfg.Audit {
		r.Audit = w.auditFile()
	}
	if r.BadList, err = writeBad(w.folder, r.Skipped); err != nil {
		return nil, err
	}
	finished, err := w.settle(ctx, before)
	if err != nil {
		return nil, err
	}
	if finished {
		return r, p.keep(ctx, w, r, before.Done)
	}
	other, err := p.reusable(ctx, o.Reuse)
	if err != nil {
		return nil, err
	}
	if other != nil {
		return r, p.takeOver(ctx, w, r, other, o.Reuse)
	}
	if o.Base != "" {
		return r, p.addExperts(ctx, w, r, o)
	}
	return r, p.makeRows(ctx, w, r, o)
}

// keep keeps an existing output, and updates fees that changed.
func (p *plan) keep(ctx context.Context, w *work, r *Report, d *done) error {
	r.Resumed, r.Digest, r.Answers, r.Latency = r.Shards, d.File, d.Answers, p.latency
	if d.Actions == digest.Of(p.actions.JSON()) {
		return nil
	}
	return p.finish(ctx, w, r, d.Audit, fromFile(ctx, p, w.out))
}

// makeRows makes the missing rows, and writes the output.
func (p *plan) makeRows(ctx context.Context, w *work, r *Report, o *Options) (err error) {
	if r.Resumed, err = p.makeShards(ctx, w, o); err != nil {
		return err
	}
	if r.Answers, err = p.counts(w); err != nil {
		return err
	}
	shown, err := p.finishAudit(ctx, w)
	if err != nil {
		return err
	}
	o.Progress.Start(-1, "write costs")
	defer o.Progress.Done()
	if err := p.finish(ctx, w, r, shown, fromShards(ctx, p, w)); err != nil {
		return err
	}
	r.Answers, r.Latency = p.withRun(r.Answers), p.latency
	return nil
}

func (p *plan) report(out string) *Report {
	r := &Report{
		File: out, Instances: len(p.splits), Actions: p.actions.Len(), Shards: p.shards(),
		Features: p.actions.Features.Name, Dim: p.options.Dim,
	}
	if s, ok := p.Source.(part.SkipLister); ok {
		r.Skipped = s.Skipped()
	}
	for _, f := range p.options.Facts {
		r.Facts = append(r.Facts, f.Name)
	}
	groups := make([]string, 0, len(p.splits))
	for _, e := range p.Source.Entries() {
		groups = append(groups, e.Group)
	}
	if p.options.Groups {
		r.Groups, r.Divided = costs.CountGroups(groups, p.splits)
	}
	for _, s := range p.splits {
		switch s {
		case costs.Train:
			r.Train++
		case costs.Val:
			r.Val++
		case costs.Test:
			r.Test++
		}
	}
	return r
}

// makeShards makes the missing shards, several at a time, and returns how many
// existed. A shard that cannot be read is made again.
func (p *plan) makeShards(ctx context.Context, w *work, o *Options) (resumed int, err error) {
	var missing, rows []int
	for shard := range p.shards() {
		if w.has(ctx, p, shard) {
			resumed++
			continue
		}
		missing = append(missing, shard)
		rows = append(rows, p.rows(shard)...)
	}
	if len(missing) == 0 {
		return resumed, ctx.Err()
	}
	if err := p.prepare(ctx, w, rows, o); err != nil {
		return resumed, err
	}
	if err := p.settleLatency(ctx, w, o); err != nil {
		return resumed, err
	}
	o.Progress.Start(int64(len(rows)), "instances")
	defer o.Progress.Done()
	err = parallel.First(ctx, p.Workers, len(missing), func(ctx context.Context, i int) error {
		return p.makeShard(ctx, w, missing[i], o)
	})
	return resumed, err
}

// makeShard makes one shard and writes its files.
func (p *plan) makeShard(ctx context.Context, w *work, shard int, o *Options) error {
	counted := &chat.Tally{}
	shown := newAudit(p.cfg.Audit)
	t, err := p.build(chat.WithTally(ctx, counted), shard, shown)
	if err != nil {
		return err
	}
	if err := w.saveAudit(shard, shown); err != nil {
		return err
	}
	if err := w.saveCounts(shard, counted.Of(p.session.Parts())); err != nil {
		return err
	}
	if err := w.save(ctx, shard, t, p.options); err != nil {
		return err
	}
	o.Progress.Add(int64(t.Len()))
	return nil
}

// batches passes the rows of the output to add, in order.
type batches func(add func(*costs.Tensor) error) error

func fromShards(ctx context.Context, p *plan, w *work) batches {
	return func(add func(*costs.Tensor) error) error {
		for shard := range p.shards() {
			t, err := w.load(ctx, p, shard)
			if err != nil {
				return err
			}
			if err := add(t); err != nil {
				return err
			}
		}
		return nil
	}
}

// fromFile reads the rows of a finished output, to write them with the fees and
// the split of this build.
func fromFile(ctx context.Context, p *plan, out string) batches {
	return func(add func(*costs.Tensor) error) (err error) {
		r, err := costs.OpenReader(ctx, storage.File(out), costs.ReadOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		for from := 0; ; {
			t, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			p.complete(t)
			t.Actions, t.Splits = p.actions, p.splits[from:from+t.Len()]
			from += t.Len()
			if err := add(t); err != nil {
				return err
			}
		}
	}
}

// finish writes the output and drops the shards. The manifest records the
// output before it is renamed, so that a kill between the two loses nothing.
// shown is the digest of the audit.
func (p *plan) finish(ctx context.Context, w *work, r *Report, shown string, rows batches) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := writeTensors(ctx, w.file(finalName), p.actions, p.options, rows); err != nil {
		return err
	}
	return p.settleOutput(ctx, w, r, shown)
}

// settleOutput records a written output and gives it its name.
func (p *plan) settleOutput(ctx context.Context, w *work, r *Report, shown string) error {
	sum, err := costs.FileDigest(ctx, storage.File(w.file(finalName)))
	if err != nil {
		return err
	}
	d := &done{File: sum, Actions: digest.Of(p.actions.JSON()), Audit: shown, Answers: r.Answers}
	if err := w.write(&manifest{Inputs: p.Inputs, Done: d, Latency: p.latency}); err != nil {
		return err
	}
	r.Digest = sum
	return w.publish()
}
