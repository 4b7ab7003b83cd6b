package sharded

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/pipeline/costing"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// passes lets the workers of a build share its passes. Each pass is a stage, in a folder of the work folder with the name of
// the pass.
type passes struct {
	work     storage.Location
	lease    time.Duration
	gathers  bool // nothing is made: all passes are done
	progress progress.Progress
}

// options are those of the shards of a pass.
func (p *passes) options(pass part.Pass) shards.Options {
	o := shards.Default(p.work.Join(pass.Name))
	if p.lease > 0 {
		o.Lease = p.lease
	}
	o.Progress = p.progress
	return o
}

// divide is a part.Divider.
func (p *passes) divide(ctx context.Context, pass part.Pass) (_ [][]byte, err error) {
	if pass.Items == 0 {
		return nil, nil
	}
	s, o := &passStage{pass: pass}, p.options(pass)
	if !p.gathers {
		w, err := shards.Open(ctx, s, o)
		if err == nil {
			_, err = w.Next(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	work, err := o.Work.Folder(ctx)
	if err != nil {
		return nil, err
	}
	folder, remove, err := atomicfile.TempFolder("", "pipe-pass-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	// One worker puts the results together, so that the others read one object.
	gather := func() ([]string, error) { return p.gather(ctx, s, o, folder) }
	if p.gathers {
		var there bool
		if there, err = shards.Fetch(ctx, work, passName, folder); err == nil && !there {
			_, err = gather()
		}
	} else {
		_, err = shards.Folder(ctx, work, passName, folder, o.Lease, gather)
	}
	if err != nil {
		return nil, err
	}
	return readPass(filepath.Join(folder, passFile))
}

// The results of all ranges, as they are shared.
const (
	passName = "results"
	passFile = "results.gob"
)

func (p *passes) gather(ctx context.Context, s *passStage, o shards.Options, folder string) ([]string, error) {
	results, err := shards.Gather(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return []string{passFile}, atomicfile.Write(filepath.Join(folder, passFile), func(w io.Writer) error { return gob.NewEncoder(w).Encode(results) })
}

func readPass(path string) (results [][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(&results); err != nil {
		return nil, &costs.DataError{File: path, Msg: "are no results of other workers", Err: err}
	}
	return results, nil
}

// PassFolder is the folder of the pass over the instances of a build, within its work folder.
const PassFolder = part.ImagesPass

// OpenCostsPass opens the pass over the instances of a build, for workers that some engine gives shards to before those of
// OpenCosts, which makes what is left of it by itself. The stage is nil if the instances need no pass.
func OpenCostsPass(ctx context.Context, o costing.Options, progress stage.Progress) (_ shards.Stage, err error) {
	cfg, b, closeRuntime, err := o.Open(ctx, stage.OrQuiet(progress))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeRuntime()) }()
	pass, err := builder.SourcePass(ctx, cfg, b)
	if pass == nil || err != nil {
		return nil, err
	}
	return &passStage{*pass}, nil
}

// passStage is a part.Pass as a shards.Stage.
type passStage struct{ pass part.Pass }

// Bounds of the items of a shard of a pass. For looks at images these are seconds to a minute.
const (
	fewItems  = 512
	manyItems = 8192
)

// shardsOf is the number of shards of a pass: about 1000.
func shardsOf(items int) int {
	each := min(max(items/1000, fewItems), manyItems)
	return (items + each - 1) / each
}

func (s *passStage) Manifest() shards.Manifest {
	return shards.Manifest{Stage: s.pass.Name, Shards: shardsOf(s.pass.Items), Rows: int64(s.pass.Items), Inputs: s.pass.Inputs}
}

func (s *passStage) Close() error                                   { return nil }
func (s *passStage) Prepare(context.Context, *storage.Folder) error { return nil }

func (s *passStage) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	from, to := shards.Cut(shard, shardsOf(s.pass.Items), s.pass.Items)
	b, err := s.pass.Make(ctx, from, to)
	if err != nil {
		return nil, err
	}
	err = atomicfile.Write(filepath.Join(folder, passFile), func(w io.Writer) error { _, err := w.Write(b); return err })
	return &shards.Result{Files: []string{passFile}, Counts: map[string]int64{"rows": int64(to - from)}}, err
}

// Gather returns the results of all shards, a [][]byte.
func (s *passStage) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	var results [][]byte
	err := parts.Each(ctx, func(_ int, folder string) error {
		b, err := os.ReadFile(filepath.Join(folder, passFile))
		results = append(results, b)
		return err
	})
	return results, err
}
