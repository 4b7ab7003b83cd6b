package sharded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// rows are what both phases of featurizing know of the raw rows.
type rows struct {
	o        pipeline.FeaturizeOptions
	schema   *tabular.Schema
	files    tabular.Files
	inputs   map[string]string // of manifests
	progress stage.Progress
}

func openRows(o pipeline.FeaturizeOptions, n int, p stage.Progress) (*rows, error) {
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: %w", err)}
	}
	if o.Split.Kind != costs.SplitHash {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: a split of kind %s depends on all rows, so that no shard can know its own: use kind %s (--split-kind), or featurize on one machine", o.Split.Kind, costs.SplitHash)}
	}
	if err := o.Files().Check(); err != nil {
		return nil, err
	}
	schema, err := pipeline.LoadSchema(o.Columns)
	if err != nil {
		return nil, err
	}
	r := &rows{o: o, schema: schema, files: tabular.Files{Primary: o.Primary, Joined: o.Joined}, progress: stage.OrQuiet(p)}
	r.inputs = map[string]string{"columns": stage.Digest(schema), "split": o.Split.Describe(0), "format": "1"}
	for role, path := range map[string]string{"rows": o.Primary, "joined rows": o.Joined} {
		if path == "" {
			continue
		}
		if r.inputs[role], err = stage.Sketch(path); err != nil {
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
	places, err := tabular.FindRows(r.files.Primary, tabular.TableGroupRows, func(in io.Reader) io.Reader {
		return watched{io.TeeReader(in, h), r.progress, ctx}
	})
	if err != nil {
		return nil, err
	}
	p := &rowPlan{Primary: "sha256:" + hex.EncodeToString(h.Sum(nil)), Parts: make([]tabular.Part, n)}
	if r.files.Joined != "" {
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
			return nil, report, &costs.DataError{File: r.files.Primary, Column: r.schema.Label, Msg: "is missing; experts cannot learn without labels"}
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

// fit is the first phase of featurizing: a shard summarises its training rows.
type fit struct {
	*rows
	manifest shards.Manifest
	plan     *rowPlan // set by Prepare
}

// Files of a shard of the first phase.
const (
	loadFile    = "load.json"
	summaryName = "summary.json"
	countsFile  = "counts.bin"
	idsFile     = "ids.bin"
)

// loaded describes the rows of a shard.
type loaded struct {
	Load     tabular.LoadReport `json:"load"`
	Train    int                `json:"train"`
	Positive int                `json:"positive"` // training rows with another label than the first one
}

// fitted is the report of the first phase.
type fitted struct {
	loaded
	Digest  string `json:"digest"` // of the encoder
	encoder []byte
}

func (s *fit) Manifest() shards.Manifest { return s.manifest }
func (s *fit) Close() error              { return nil }

// Prepare cuts the rows.
func (s *fit) Prepare(ctx context.Context, work *storage.Folder) error {
	if s.plan != nil {
		return nil
	}
	const name = "rows.json"
	b, err := shards.Share(ctx, work, name, func() ([]byte, error) {
		p, err := s.cut(ctx, s.manifest.Shards)
		if err != nil {
			return nil, err
		}
		return json.Marshal(p)
	})
	if err != nil {
		return err
	}
	p := &rowPlan{}
	if err := readJSON(b, work, name, p); err != nil {
		return err
	}
	s.plan = p
	return nil
}

func (s *fit) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	f, report, err := s.load(ctx, s.plan, shard)
	if err != nil {
		return nil, err
	}
	train, _, err := s.split(f)
	if err != nil {
		return nil, err
	}
	l := loaded{Load: report, Train: len(train)}
	for _, n := range train {
		if f.Labels[n] > 0 {
			l.Positive++
		}
	}
	sum, err := tabular.Summarise(f, s.schema, train)
	if err == nil {
		err = writeJSON(filepath.Join(folder, loadFile), l)
	}
	if err == nil {
		err = writeSummary(folder, sum)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(folder, idsFile), func(w io.Writer) error { return tabular.WriteIDs(w, f) })
	}
	if err != nil {
		return nil, err
	}
	return &shards.Result{Files: []string{loadFile, summaryName, countsFile, idsFile}, Counts: map[string]int64{"rows": int64(f.Len()), "train": int64(len(train))}}, nil
}

func writeSummary(folder string, sum *tabular.Summary) error {
	return atomicfile.Write(filepath.Join(folder, summaryName), func(description io.Writer) error {
		return atomicfile.Write(filepath.Join(folder, countsFile), func(counts io.Writer) error { return sum.Write(description, counts) })
	})
}

// Gather fits the encoder. The report is a *fitted.
func (s *fit) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	var files opened
	defer func() { files.close() }()
	var sums []*tabular.Summary
	var reports []tabular.LoadReport
	var ids []io.Reader
	all := &fitted{}
	err := parts.Each(ctx, func(_ int, folder string) error {
		sum, l, err := readSummary(folder, &files, parts.Folder())
		if err != nil {
			return err
		}
		list, err := files.open(filepath.Join(folder, idsFile))
		sums, reports, ids = append(sums, sum), append(reports, l.Load), append(ids, list)
		all.Train, all.Positive = all.Train+l.Train, all.Positive+l.Positive
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := tabular.CheckIDs(s.files.Primary, s.schema, ids); err != nil {
		return nil, err
	}
	all.Load = tabular.MergeReports(s.files, reports)
	if all.Train == 0 || all.Train == all.Load.Rows {
		empty := map[bool]costs.Split{true: costs.Train, false: costs.Val}[all.Train == 0]
		return nil, &costs.DataError{File: s.files.Primary, Msg: fmt.Sprintf("split: kind %s leaves none of %d rows to %s; more rows are needed, another share, or another seed", s.o.Split.Kind, all.Load.Rows, empty)}
	}
	e, err := tabular.FitSummaries(s.files.Primary, s.schema, sums)
	if err != nil {
		return nil, err
	}
	all.Digest, all.encoder = e.Digest(), e.JSON()
	return all, nil
}

// readSummary reads the summary of a shard, whose counts stay open.
func readSummary(folder string, files *opened, work *storage.Folder) (*tabular.Summary, *loaded, error) {
	l := &loaded{}
	b, err := os.ReadFile(filepath.Join(folder, loadFile))
	if err == nil {
		err = readJSON(b, work, loadFile, l)
	}
	if err != nil {
		return nil, nil, err
	}
	counts, err := files.open(filepath.Join(folder, countsFile))
	if err != nil {
		return nil, nil, err
	}
	description, err := os.Open(filepath.Join(folder, summaryName))
	if err != nil {
		return nil, nil, err
	}
	sum, err := tabular.ReadSummary(description, counts)
	return sum, l, errors.Join(err, description.Close())
}
