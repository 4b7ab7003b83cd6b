package retrieval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pipe/experts/builder/part"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
)

// Index finds passages in an index file. It is safe for concurrent use.
type Index struct{ index *bm25.Index }

// OpenIndex opens an index file of pages, which the caller closes.
func OpenIndex(path string) (*Index, error) {
	x, err := bm25.Open(path)
	if err != nil {
		return nil, err
	}
	return &Index{x}, nil
}

// indexPages opens the index of pages in the folder of experts, and builds it
// if it does not exist. Its name depends on pages and settings, so an existing
// index is always the right one.
func indexPages(ctx context.Context, s *part.Setup, pages storage.Location, settings bm25.Settings) (corpus, error) {
	source, err := bm25.SourceDigest(ctx, pages)
	if err != nil {
		return nil, err
	}
	name := digest.Of(fmt.Appendf(nil, "%s %+v", source, settings))
	path := filepath.Join(s.Folder, "pages-"+digest.Short(name)+".bm25")
	x, err := bm25.Open(path)
	var damaged *bm25.IndexError
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) {
		return &Index{x}, err
	}
	if _, err := atomicfile.MkdirAll(s.Folder); err != nil {
		return nil, fmt.Errorf("make folder of experts: %w", err)
	}
	if _, err := bm25.Build(ctx, bm25.BuildOptions{Pages: pages, Out: storage.File(path), Settings: settings, Progress: s.Progress}); err != nil {
		return nil, err
	}
	return OpenIndex(path)
}

// Identity is the digest of the index.
func (p *Index) Identity() string { return p.index.Digest() }

// Find searches the index for one query after the other.
func (p *Index) Find(ctx context.Context, queries []string, top int) ([][]part.Passage, error) {
	out := make([][]part.Passage, len(queries))
	for n, q := range queries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hits, err := p.index.Search(q, top)
		if err != nil {
			return nil, err
		}
		out[n] = make([]part.Passage, len(hits))
		for i, h := range hits {
			page, err := p.index.Page(h.Number)
			if err != nil {
				return nil, err
			}
			out[n][i] = part.Passage{Page: page.ID, Text: page.Text}
		}
	}
	return out, nil
}

// has reports whether the index has a page.
func (p *Index) has(page string) (bool, error) {
	_, found, err := p.index.Find(page)
	return found, err
}

// Close frees the index.
func (p *Index) Close() error { return p.index.Close() }
