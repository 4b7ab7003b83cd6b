package bm25

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"pipe/internal/atomicfile"
)

// PartInfo describes a file of BuildPart: one sorted run of pages and words.
type PartInfo struct {
	Pages       int   `json:"pages"`
	Skipped     int   `json:"skipped"`  // pages without text
	Distinct    int   `json:"distinct"` // different words
	PagesAt     int64 `json:"pages_at"` // in the file
	WordsAt     int64 `json:"words_at"`
	End         int64 `json:"end"`
	Bytes       int64 `json:"bytes"`       // of ids and texts
	Words       int64 `json:"words"`       // of all pages together
	Occurrences int64 `json:"occurrences"` // pairs of a word and a page with it
}

// PartFile is a file of BuildPart that is open, and what describes it.
type PartFile struct {
	io.ReaderAt
	PartInfo
}

// BuildPart writes the pages and the postings of a part of the pages to o.Out. Its bytes depend only on the pages, the
// part and the settings.
func BuildPart(ctx context.Context, o BuildOptions, part Part) (*PartInfo, error) {
	i, err := buildPart(ctx, o, part)
	if err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	return i, nil
}

func buildPart(ctx context.Context, o BuildOptions, part Part) (*PartInfo, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	src, err := openSource(ctx, o.Pages)
	if err != nil {
		return nil, err
	}
	src.only = &part
	g := &gathering{source: src, options: &o}
	defer g.Close()
	if err := g.gather(ctx); err != nil {
		return nil, err
	}
	f, err := atomicfile.CreateAt(ctx, o.Out)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", o.Out, err)
	}
	defer f.Cleanup()
	w := &partWriter{gathering: g, out: &spill{file: f}}
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	return &w.info, f.CloseAtomicallyReplace()
}

// MergeParts makes the index of the files of all parts, in the order of the pages: the bytes of Build. source is the digest
// of the pages.
func MergeParts(ctx context.Context, o BuildOptions, source string, parts []PartFile) (*Stats, error) {
	start := time.Now()
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	src, err := openSource(ctx, o.Pages)
	if err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	g := &gathering{source: src, options: &o, digest: source}
	for _, p := range parts {
		g.skipped += p.Skipped
		if p.Pages > 0 {
			g.runs = append(g.runs, p.run())
		}
	}
	s, err := g.finish(ctx)
	if err != nil {
		return nil, fmt.Errorf("index pages: %w", err)
	}
	s.Seconds = time.Since(start).Seconds()
	return s, nil
}

func (p *PartFile) run() *run {
	return &run{
		file: p.ReaderAt, pagesAt: p.PagesAt, wordsAt: p.WordsAt, end: p.End, pages: p.Pages, words: p.Distinct,
		bytes: p.Bytes, total: p.Words, occurrences: p.Occurrences,
	}
}

// partWriter merges the runs of a part into one.
type partWriter struct {
	*gathering
	out     *spill
	info    PartInfo
	numbers [][]uint32 // per run and page in it: its number in the part
}

func (w *partWriter) write(ctx context.Context) error {
	w.info = PartInfo{Pages: w.pages(), Skipped: w.skipped}
	if int64(w.info.Pages) > math.MaxUint32-1 {
		return fmt.Errorf("a part has %d pages, more than an index holds", w.info.Pages)
	}
	var pages []*runPages
	var words []*runWords
	for i, r := range w.runs {
		w.info.Bytes, w.info.Words, w.info.Occurrences = w.info.Bytes+r.bytes, w.info.Words+r.total, w.info.Occurrences+r.occurrences
		pages, words = append(pages, newRunPages(i, r)), append(words, newRunWords(i, r))
		w.numbers = append(w.numbers, make([]uint32, 0, r.pages))
	}
	to := bufio.NewWriterSize(w.out, 1<<18)
	if err := errors.Join(w.writePages(ctx, to, pages), to.Flush()); err != nil {
		return err
	}
	w.info.WordsAt = w.out.size
	err := errors.Join(w.writeWords(ctx, to, words), to.Flush())
	w.info.End = w.out.size
	return err
}

func (w *partWriter) writePages(ctx context.Context, to *bufio.Writer, cursors []*runPages) error {
	heap, err := newMerge(cursors)
	if err != nil {
		return err
	}
	for n := uint32(0); len(heap) > 0; n++ {
		p := heap[0]
		writePage(to, p.id, p.text, p.words, p.place)
		w.numbers[p.run] = append(w.numbers[p.run], n)
		if err := heap.advance(); err != nil {
			return err
		}
		if n%reportEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (w *partWriter) writeWords(ctx context.Context, to *bufio.Writer, cursors []*runWords) error {
	heap, err := newMerge(cursors)
	if err != nil {
		return err
	}
	var word []byte
	var pages []uint64
	for len(heap) > 0 {
		word = append(word[:0], heap[0].word...)
		if pages, err = pagesOf(word, &heap, w.numbers, pages[:0]); err != nil {
			return err
		}
		head := append(binary.AppendUvarint(to.AvailableBuffer(), uint64(len(word))), word...)
		to.Write(binary.AppendUvarint(head, uint64(len(pages))))
		last := uint64(0)
		for _, p := range pages {
			pair := binary.AppendUvarint(to.AvailableBuffer(), p>>32-last)
			to.Write(binary.AppendUvarint(pair, p&math.MaxUint32))
			last = p >> 32
		}
		if w.info.Distinct++; w.info.Distinct%reportEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
