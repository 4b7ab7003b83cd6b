package sharded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
	"pipe/pipeline/features"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// rows are what both phases of featurizing know of the raw rows.
type rows struct {
	o        features.Options
	schema   *tabular.Schema
	files    tabular.Files
	inputs   map[string]string // of manifests
	progress stage.Progress
}

func openRows(ctx context.Context, o features.Options, n int, p stage.Progress) (*rows, error) {
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: %w", err)}
	}
	if o.Split.Kind != costs.SplitHash {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: a split of kind %s depends on all rows, so that no shard can know its own: use kind %s (--split-kind), or featurize on one machine", o.Split.Kind, costs.SplitHash)}
	}
	if err := o.Files().Check(ctx); err != nil {
		return nil, err
	}
	schema, err := features.LoadSchema(ctx, o.Columns)
	if err != nil {
		return nil, err
	}
	r := &rows{o: o, schema: schema, files: tabular.Files{Primary: o.Primary, Joined: o.Joined}, progress: stage.OrQuiet(p)}
	r.inputs = map[string]string{"columns": stage.Digest(schema), "split": o.Split.Describe(0), "format": "1"}
	for role, path := range map[string]storage.Location{"rows": o.Primary, "joined rows": o.Joined} {
		if path.IsZero() {
			continue
		}
		if r.inputs[role], err = stage.Sketch(ctx, path); err != nil {
			return nil, fmt.Errorf("featurize: %w", err)
		}
	}
	return r, nil
}

func (r *rows) manifest(name string, n int) shards.Manifest {
	return shards.Manifest{Stage: name, Shards: n, Inputs: r.inputs}
}

// rowPlan is how the rows are cut: at multiples of the rows of a row group of the table.
type rowPlan struct {
	Primary string         `json:"primary"` // digest
	Joined  string         `json:"joined,omitempty"`
	Parts   []tabular.Part `json:"parts"`
}

// inputs are the digests that the record of featurizing has.
func (p *rowPlan) inputs(s *tabular.Schema) map[string]string {
	m := map[string]string{"columns": stage.Digest(s), "primary": p.Primary}
	if p.Joined != "" {
		m["joined"] = p.Joined
	}
	return m
}

// cut reads both files once.
func (r *rows) cut(ctx context.Context, n int) (*rowPlan, error) {
	r.progress.Start(-1, "find rows")
	defer r.progress.Done()
	h := sha256.New()
	places, err := tabular.FindRows(ctx, r.files.Primary, tabular.TableGroupRows, func(in io.Reader) io.Reader {
		return watched{io.TeeReader(in, h), r.progress, ctx}
	})
	if err != nil {
		return nil, err
	}
	p := &rowPlan{Primary: "sha256:" + hex.EncodeToString(h.Sum(nil)), Parts: make([]tabular.Part, n)}
	if !r.files.Joined.IsZero() {
		if p.Joined, err = costs.FileDigest(ctx, r.files.Joined); err != nil {
			return nil, fmt.Errorf("featurize: %w", err)
		}
	}
	groups := int((places.End.Row + tabular.TableGroupRows - 1) / tabular.TableGroupRows)
	for i := range p.Parts {
		from, to := shards.Cut(i, n, groups)
		p.Parts[i] = tabular.Part{
			From: places.Before(int64(from) * tabular.TableGroupRows), To: places.Before(int64(to) * tabular.TableGroupRows), Number: i, Count: n,
		}
	}
	return p, nil
}

// watched reports the bytes that are read, and ends with a context.
type watched struct {
	io.Reader
	progress stage.Progress
	ctx      context.Context
}

func (w watched) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.Reader.Read(b)
	w.progress.Add(int64(n))
	return n, err
}

// load reads the rows of a shard.
func (r *rows) load(ctx context.Context, p *rowPlan, shard int) (*tabular.Frame, tabular.LoadReport, error) {
	r.progress.Start(-1, "read rows")
	defer r.progress.Done()
	f, report, err := tabular.LoadPart(ctx, r.schema, r.files, p.Parts[shard], func(n int) { r.progress.Add(int64(n)) })
	if err != nil {
		return nil, report, err
	}
	for _, l := range f.Labels {
		if l < 0 {
			return nil, report, &costs.DataError{File: r.files.Primary.String(), Column: r.schema.Label, Msg: "is missing; experts cannot learn without labels"}
		}
	}
	return f, report, nil
}

// split draws the split of every row; train are the training rows.
func (r *rows) split(f *tabular.Frame) (train []int, names []string, err error) {
	s := r.o.Split
	splits, err := costs.SplitDraw{Kind: s.Kind, Validation: s.Validation, Seed: s.Seed, Partial: true}.Draw(f.IDs, nil, f.Groups)
	for n, split := range splits {
		if split == costs.Train {
			train = append(train, n)
		}
		names = append(names, split.String())
	}
	return train, names, err
}
