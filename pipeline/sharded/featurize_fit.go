package sharded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/shards"
)

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
	valid := func(p *rowPlan) bool { return len(p.Parts) == s.manifest.Shards }
	p, err := shards.Share(ctx, work, "rows.json", valid, func() (*rowPlan, error) { return s.cut(ctx, s.manifest.Shards) })
	s.plan = p
	return err
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
		err = writeJSON(ctx, storage.File(filepath.Join(folder, loadFile)), l)
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
	if err := tabular.CheckIDs(s.files.Primary.String(), s.schema, ids); err != nil {
		return nil, err
	}
	all.Load = tabular.MergeReports(s.files, reports)
	if all.Train == 0 || all.Train == all.Load.Rows {
		empty := map[bool]costs.Split{true: costs.Train, false: costs.Val}[all.Train == 0]
		return nil, &costs.DataError{File: s.files.Primary.String(), Msg: fmt.Sprintf("split: kind %s leaves none of %d rows to %s; more rows are needed, another share, or another seed", s.o.Split.Kind, all.Load.Rows, empty)}
	}
	e, err := tabular.FitSummaries(s.files.Primary.String(), s.schema, sums)
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
