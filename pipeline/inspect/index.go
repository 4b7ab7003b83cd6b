package inspect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"pipe/experts/retrieval/bm25"
	"pipe/experts/retrieval/pagename"
	"pipe/internal/safetext"
	"pipe/internal/storage"
)

// IndexExplanation describes an index of pages.
type IndexExplanation struct {
	Format int         `json:"format"`
	Kind   string      `json:"kind"`
	File   string      `json:"file"`
	Digest string      `json:"digest"`
	Index  bm25.Header `json:"index"`
	Found  []FoundPage `json:"found,omitempty"`
}

// explainIndex reads every byte of an index.
func explainIndex(ctx context.Context, at storage.Location, o Options) (Explanation, error) {
	path, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	x, err := bm25.Open(path)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := x.Verify(ctx); err != nil {
		return nil, err
	}
	e := &IndexExplanation{Format: 1, Kind: "index", File: at.String(), Digest: x.Digest(), Index: x.Header()}
	const top = 5
	e.Found, err = Search(x, o.Queries, top)
	return e, err
}

// WriteText writes the explanation for a terminal.
func (e *IndexExplanation) WriteText(w io.Writer) error {
	h, s := &e.Index, &e.Index.Settings
	b := safetext.Titled(filepath.Clean(e.File), "index of pages; all checksums match")
	b.Add("digest", "%s", e.Digest)
	b.Add("made of", "%s", h.Source)
	b.Add("pages", "%d, and %d without text", h.Pages, h.Skipped)
	b.Add("words", "%d, %.1f a page, %d different, %d pairs of word and page", h.Words, float64(h.Words)/float64(h.Pages), h.Distinct, h.Postings)
	b.Add("ranking", "BM25, k1 = %v, b = %v", s.K1, s.B)
	b.Add("analyzer", "version %d: words in lower case, stop words left out: %v, plurals taken for singulars: %v, words of the title count %d times",
		h.Analyzer, s.StopWords, s.Stem, s.Title)
	for _, part := range h.Sections {
		b.Add("section "+part.Name, "%d bytes from byte %d on", part.Size, part.Offset)
	}
	AddFound(b, e.Found)
	return b.WriteText(w)
}

// FoundPage is a page that a query found.
type FoundPage struct {
	Query string `json:"query"`
	bm25.Hit
	Text string `json:"text"`
}

// Search returns the best pages of an index for every query, at most top each.
func Search(x *bm25.Index, queries []string, top int) ([]FoundPage, error) {
	var found []FoundPage
	for _, q := range queries {
		hits, err := x.Search(q, top)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			page, err := x.Page(h.Number)
			if err != nil {
				return nil, err
			}
			found = append(found, FoundPage{q, h, page.Text})
		}
	}
	return found, nil
}

// AddFound writes found pages under their queries, for a terminal.
func AddFound(b io.Writer, found []FoundPage) {
	query := ""
	for _, f := range found {
		if f.Query != query {
			query = f.Query
			fmt.Fprintf(b, "query %q\n", query)
		}
		text := []rune(f.Text)
		if len(text) > shownText {
			text = append(text[:shownText], []rune(" ...")...)
		}
		fmt.Fprintf(b, "  %8.4f  %s: %s\n", f.Score, safetext.Line(pagename.Title(f.Page)), safetext.Line(string(text)))
	}
}

// shownText is how much of a page is shown.
const shownText = 160
