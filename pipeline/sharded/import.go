package sharded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/imports"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// outcomes is imports.Run in shards: a shard pivots some pieces of the outcomes, and gathering merges the pivots
// and does the rest: features, grading, splits.
type outcomes struct {
	o        imports.Options
	progress stage.Progress
	manifest shards.Manifest
	pieces   int
}

const pivotFile = "pivot.gob"

// Import opens outcomes for an import in n shards. A folder is cut between its files, and a Parquet file between its row
// groups. More shards than pieces are an *stage.OptionError, and so is an import that appends.
func Import(ctx context.Context, o imports.Options, n int, p stage.Progress) (shards.Stage, error) {
	if o.Append {
		return nil, &stage.OptionError{Err: errors.New("import: --append cannot be done in shards: import to a new file, and join both with pipe merge")}
	}
	if err := o.Check(ctx); err != nil {
		return nil, err
	}
	s := &outcomes{o: o, progress: stage.OrQuiet(p), manifest: shards.Manifest{Stage: "import", Shards: n}}
	cfg, err := o.Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	files, err := outcome.OutcomeFiles(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if s.pieces, err = outcome.OutcomePieces(ctx, cfg); err != nil {
		return nil, err
	}
	if n > s.pieces {
		return nil, &stage.OptionError{Err: fmt.Errorf("import: outcomes %q: %d shards of %d pieces: a folder is cut between its files, one Parquet file between its row groups; use fewer shards, or write the outcomes as a folder of parts",
			cfg.Outcomes.File, n, s.pieces)}
	}
	s.manifest.Inputs = map[string]string{"settings": stage.Digest(cfg), "format": "1"}
	if s.manifest.Inputs["outcomes"], err = stage.Sketch(ctx, files...); err != nil {
		return nil, err
	}
	for role, path := range map[string]storage.Location{"prices": cfg.Fees.Prices} {
		if path.IsZero() {
			continue
		}
		if s.manifest.Inputs[role], err = costs.FileDigest(ctx, path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *outcomes) Manifest() shards.Manifest                      { return s.manifest }
func (s *outcomes) Close() error                                   { return nil }
func (s *outcomes) Prepare(context.Context, *storage.Folder) error { return nil }

func (s *outcomes) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	cfg, err := s.o.Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	s.progress.Start(-1, "pivot outcomes")
	defer s.progress.Done()
	from, to := shards.Cut(shard, s.manifest.Shards, s.pieces)
	p, err := outcome.ReadPartial(ctx, cfg, from, to)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(folder, pivotFile), func(w io.Writer) error { return p.Write(w) }); err != nil {
		return nil, err
	}
	return &shards.Result{Files: []string{pivotFile}, Counts: map[string]int64{"rows": int64(p.Rows)}}, nil
}

// Gather merges the pivots. The report is a *imports.Report.
func (s *outcomes) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	o := s.o
	o.Partials = func(use func(*outcome.Partial) error) error {
		return parts.Each(ctx, func(_ int, folder string) error {
			f, err := os.Open(filepath.Join(folder, pivotFile))
			if err != nil {
				return err
			}
			defer f.Close()
			p, err := outcome.ReadPartialFrom(f)
			if err != nil {
				return err
			}
			return use(p)
		})
	}
	return imports.Run(ctx, o, s.progress)
}
