package sharded

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"pipe/experts/retrieval/bm25"
	"pipe/internal/storage"
	"pipe/pipeline/index"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// pageIndex is index.Run in shards: a shard has the postings of a range of the lines of the pages, sorted, and
// gathering merges them.
type pageIndex struct {
	o        index.Options
	progress stage.Progress
	manifest shards.Manifest
	cuts     *bm25.Cuts // set by Prepare
}

// Files of a shard of an index.
const (
	postingsFile = "postings.bin"
	postingsInfo = "postings.json"
)

// Index opens pages for an index in n shards.
func Index(ctx context.Context, o index.Options, n int, p stage.Progress) (shards.Stage, error) {
	if err := o.Check(ctx); err != nil {
		return nil, err
	}
	files, err := bm25.PageFiles(ctx, o.Pages)
	if err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	settings, err := json.Marshal(o.Settings)
	if err != nil {
		return nil, err
	}
	s := &pageIndex{o: o, progress: stage.OrQuiet(p), manifest: shards.Manifest{Stage: "index", Shards: n, Inputs: map[string]string{
		"settings": string(settings), "format": fmt.Sprint(bm25.PartFormat),
	}}}
	s.manifest.Inputs["pages"], err = stage.Sketch(ctx, files...)
	return s, err
}

func (s *pageIndex) Manifest() shards.Manifest { return s.manifest }
func (s *pageIndex) Close() error              { return nil }

// Prepare reads the pages once, for their digest and the places at which they are cut.
func (s *pageIndex) Prepare(ctx context.Context, work *storage.Folder) error {
	valid := func(c *bm25.Cuts) bool { return len(c.Parts) == s.manifest.Shards }
	c, err := shards.Share(ctx, work, "pages.json", valid, func() (*bm25.Cuts, error) {
		s.progress.Start(-1, "find pages")
		defer s.progress.Done()
		c, err := bm25.CutPages(ctx, s.o.Pages, s.manifest.Shards)
		if err != nil {
			return nil, fmt.Errorf("index pages: %w", err)
		}
		return c, nil
	})
	s.cuts = c
	return err
}

func (s *pageIndex) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	o := s.options(storage.File(filepath.Join(folder, postingsFile)))
	info, err := bm25.BuildPart(ctx, o, s.cuts.Parts[shard])
	if err != nil {
		return nil, err
	}
	if err := writeJSON(ctx, storage.File(filepath.Join(folder, postingsInfo)), info); err != nil {
		return nil, err
	}
	return &shards.Result{Files: []string{postingsFile, postingsInfo}, Counts: map[string]int64{"rows": int64(info.Pages), "skipped": int64(info.Skipped)}}, nil
}

func (s *pageIndex) options(out storage.Location) bm25.BuildOptions {
	return bm25.BuildOptions{Pages: s.o.Pages, Out: out, Settings: s.o.Settings, Workers: s.o.Workers, Progress: s.progress}
}

// Gather merges the postings. The report is a *index.Report.
func (s *pageIndex) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	if err := s.Prepare(ctx, parts.Folder()); err != nil {
		return nil, err
	}
	var files opened
	defer func() { files.close() }()
	var list []bm25.PartFile
	err := parts.Each(ctx, func(_ int, folder string) error {
		var p bm25.PartFile
		text, err := os.ReadFile(filepath.Join(folder, postingsInfo))
		if err != nil {
			return err
		}
		if err := readJSON(text, parts.Folder(), postingsInfo, &p.PartInfo); err != nil {
			return err
		}
		p.ReaderAt, err = files.open(filepath.Join(folder, postingsFile))
		list = append(list, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return index.RunWith(ctx, s.o, s.progress, func(ctx context.Context, o bm25.BuildOptions) (*bm25.Stats, error) {
		return bm25.MergeParts(ctx, o, s.cuts.Source, list)
	})
}
