package sharded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pipe/experts/builder"
	"pipe/experts/chat"
	"pipe/experts/service"
	"pipe/internal/storage"
	"pipe/pipeline/costing"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// ShardOptions are the options of a stage that many workers share.
type ShardOptions struct {
	Shards  int              // into which the work is cut
	Workers int              // that may ask paid services at the same time; each takes its share of the limits
	Work    storage.Location // work folder, a path or a URL; "": beside the output
	Lease   time.Duration
	Gathers bool // this worker only gathers
}

// costsWork is pipe costs as a shards.Stage: a shard is a range of the builder's shards.
type costsWork struct {
	build    *builder.Sharded
	close    func() error
	o        ShardOptions
	progress stage.Progress
}

// CostsWork is the work folder of a build: the one that is named, else the one beside the output.
func CostsWork(ctx context.Context, o *costing.Options, s *ShardOptions) (storage.Location, error) {
	if !s.Work.IsZero() {
		return s.Work, nil
	}
	out, err := builder.OutputFile(ctx, o.Out)
	return shards.Beside(out), err
}

// OpenCosts opens a build for a worker, or to gather it; the bytes are those of costing.Run. A budget counts for all
// workers and runs of the work folder, where answers of chat models are kept, too, unless o names another folder.
func OpenCosts(ctx context.Context, o costing.Options, s ShardOptions, progress stage.Progress) (_ shards.Stage, err error) {
	progress = stage.OrQuiet(progress)
	if o.Base != "" {
		return nil, &stage.OptionError{Err: errors.New("--base adds experts to an output on one machine: build the new experts in shards by a configuration of their own, and join the tensors with pipe merge")}
	}
	if s.Shards < 1 || s.Shards > shards.MaxShards || s.Workers < 1 || s.Workers > service.MaxConcurrency {
		return nil, &stage.OptionError{Err: fmt.Errorf("%d shards and %d workers; both must be positive, and at most %d and %d", s.Shards, s.Workers, shards.MaxShards, service.MaxConcurrency)}
	}
	work, err := CostsWork(ctx, &o, &s)
	if err != nil {
		return nil, err
	}
	folder, err := work.Folder(ctx)
	if err != nil {
		return nil, err
	}
	p := &passes{work: work, lease: s.Lease, gathers: s.Gathers, progress: progress}
	share := builder.Shares{Ranges: s.Shards, Divide: p.divide, Workers: s.Workers, Lease: s.Lease, Answers: folder.Sub("answers"), Ledger: folder.Sub("ledger")}
	if !o.Answers.IsZero() {
		if share.Answers, err = o.Answers.Folder(ctx); err != nil {
			return nil, err
		}
	}
	cfg, b, closeRuntime, err := o.Open(ctx, progress)
	if err != nil {
		return nil, err
	}
	build, err := builder.OpenSharded(ctx, cfg, b, share)
	if err != nil {
		return nil, errors.Join(err, closeRuntime())
	}
	return &costsWork{build: build, close: closeRuntime, o: s, progress: progress}, nil
}

// Manifest returns what the rows depend on.
func (c *costsWork) Manifest() shards.Manifest {
	return shards.Manifest{Stage: "costs", Shards: c.o.Shards, Rows: int64(c.build.Rows()), Inputs: c.build.Inputs()}
}

// Prepare trains experts, embeds texts and measures times, or fetches what another worker has made of them.
func (c *costsWork) Prepare(ctx context.Context, work *storage.Folder) error {
	if !c.build.NeedsPreparing() {
		return nil
	}
	folder, err := c.build.Prepared(ctx)
	if err != nil {
		return err
	}
	made, err := shards.Folder(ctx, work, "experts", folder, c.o.Lease, func() ([]string, error) { return c.build.Prepare(ctx) })
	if err != nil || made {
		return err
	}
	_, err = c.build.Prepare(ctx) // finds everything there
	return err
}

// Shard makes a range of rows.
func (c *costsWork) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	file, counts, err := c.build.Range(ctx, shard, folder)
	if err != nil {
		return nil, err
	}
	return &shards.Result{Files: []string{file}, Counts: counts}, nil
}

// Stops reports errors that every shard would have: the budget is used up, or a service refuses all.
func (c *costsWork) Stops(err error) bool {
	var over *chat.BudgetError
	return errors.As(err, &over)
}

// Gather writes the cost tensor. The report is a *costing.Report.
func (c *costsWork) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	if c.build.NeedsPreparing() {
		folder, err := c.build.Prepared(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := shards.Fetch(ctx, parts.Folder(), "experts", filepath.Clean(folder)); err != nil {
			return nil, err
		}
	}
	r, err := c.build.Gather(ctx, func(use func(n int, folder string) error) error { return parts.Each(ctx, use) })
	if err != nil {
		return nil, err
	}
	return costing.Summarize(ctx, r, c.progress)
}

// Close frees the parts of the build and the runtime.
func (c *costsWork) Close() error { return errors.Join(c.build.Close(), c.close()) }
