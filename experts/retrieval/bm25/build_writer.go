package bm25

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"pipe/internal/digest"
)

// writer is the second half of a build: runs become one file.
type writer struct {
	*gathering
	file    *os.File
	header  Header
	end     int64      // of the sections so far
	sums    []byte     // of the sections so far
	numbers [][]uint32 // per run and page in it: its number in the index
	lengths []uint32   // words per page
	norms   *norms

	unreported int // pages or words written since the last report of progress
}

// reportEvery is how many pages or words are written between two reports of
// progress. A build can be interrupted only at a report.
const reportEvery = 1 << 14

// write writes the whole file.
func (w *writer) write(ctx context.Context) error {
	w.header = Header{
		Settings: w.options.Settings, Analyzer: analyzerVersion, Pages: w.pages(), Skipped: w.skipped, Source: w.digest,
	}
	if w.header.Pages > maxPages {
		return fmt.Errorf("there are %d pages; an index holds at most %d", w.header.Pages, maxPages)
	}
	for _, r := range w.runs {
		w.header.Words += r.total
		w.header.Postings += r.occurrences
	}
	w.end = headerLen
	w.options.Progress.Start(int64(w.header.Pages), "write pages")
	defer w.options.Progress.Done()
	if err := w.writePages(ctx); err != nil {
		return err
	}
	w.options.Progress.Start(w.header.Postings, "write words")
	w.unreported = 0
	if err := w.writeWords(ctx); err != nil {
		return err
	}
	return w.writeHeader()
}

// add ends a section.
func (w *writer) add(s *sectionWriter) error {
	if err := s.flush(); err != nil {
		return err
	}
	w.header.Sections = append(w.header.Sections, section{sectionNames[len(w.header.Sections)], s.offset, s.size})
	w.end = s.offset + s.size
	w.sums = append(w.sums, s.sums...)
	return nil
}

// pageSections are the sections with data of pages. Their sizes are known in
// advance, so all are written in one pass.
type pageSections struct {
	pages, starts, texts, lengths *sectionWriter

	last   []byte // id of the page before
	lastAt place
}

// newPageSections starts the sections at an offset, for n pages whose ids and
// texts have the given number of bytes.
func newPageSections(file io.WriterAt, offset, n, bytes int64) *pageSections {
	s := &pageSections{pages: newSectionWriter(file, align(offset))}
	s.starts = newSectionWriter(file, align(s.pages.offset+bytes))
	s.texts = newSectionWriter(file, align(s.starts.offset+8*(n+1)))
	s.lengths = newSectionWriter(file, align(s.texts.offset+4*n))
	return s
}

// write appends a page to them.
func (s *pageSections) write(w *writer, p *runPages) error {
	if s.pages.len() > 0 && bytes.Equal(p.id, s.last) {
		return w.source.twice(p.id, s.lastAt, p.place)
	}
	s.last, s.lastAt = append(s.last[:0], p.id...), p.place
	return writeAll(
		part{s.starts, u64(uint64(s.pages.len()))}, part{s.texts, u32(uint32(len(p.id)))}, part{s.lengths, u32(p.words)},
		part{s.pages, p.id}, part{s.pages, p.text},
	)
}

// end ends the sections.
func (s *pageSections) end(w *writer) error {
	if err := writeAll(part{s.starts, u64(uint64(s.pages.len()))}); err != nil {
		return err
	}
	for _, section := range []*sectionWriter{s.pages, s.starts, s.texts, s.lengths} {
		if err := w.add(section); err != nil {
			return err
		}
	}
	return nil
}

// writePages merges the pages of the runs and numbers them in the order of
// their ids.
func (w *writer) writePages(ctx context.Context) error {
	total := int64(0)
	var cursors []*runPages
	for i, r := range w.runs {
		total += r.bytes
		cursors = append(cursors, newRunPages(i, r))
		w.numbers = append(w.numbers, make([]uint32, 0, r.pages))
	}
	sections := newPageSections(w.file, w.end, int64(w.header.Pages), total)
	heap, err := newMerge(cursors)
	if err != nil {
		return err
	}
	for len(heap) > 0 {
		p := heap[0]
		if err := sections.write(w, p); err != nil {
			return err
		}
		w.numbers[p.run] = append(w.numbers[p.run], uint32(len(w.lengths)))
		w.lengths = append(w.lengths, p.words)
		if err := errors.Join(w.report(ctx, 1), heap.advance()); err != nil {
			return err
		}
	}
	return sections.end(w)
}

// part is bytes and the section they go to.
type part struct {
	to   io.Writer
	data []byte
}

func writeAll(parts ...part) error {
	for _, p := range parts {
		if _, err := p.to.Write(p.data); err != nil {
			return err
		}
	}
	return nil
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// writeWords merges the words of the runs. The sections of words and dictionary
// are collected in temporary files, since their sizes are not known before the
// end.
func (w *writer) writeWords(ctx context.Context) error {
	var waiting [2]*spill
	for i := range waiting {
		s, err := newSpill(w.options.Out)
		if err != nil {
			return err
		}
		defer s.Close()
		waiting[i] = s
	}
	list := newSectionWriter(w.file, align(w.end))
	words, dictionary := newSectionWriter(waiting[0].file, 0), newSectionWriter(waiting[1].file, 0)
	w.norms = w.header.norms()
	if err := w.mergeWords(ctx, list, words, dictionary); err != nil {
		return err
	}
	if err := writeAll(part{dictionary, entry(list.len(), 0, 0, words.len())}, part{list, make([]byte, slack)}); err != nil {
		return err
	}
	if err := w.add(list); err != nil {
		return err
	}
	for i, s := range []*sectionWriter{words, dictionary} {
		if err := s.flush(); err != nil {
			return err
		}
		s.offset = align(w.end)
		if _, err := io.Copy(io.NewOffsetWriter(w.file, s.offset), io.NewSectionReader(waiting[i].file, 0, s.size)); err != nil {
			return err
		}
		if err := w.add(s); err != nil {
			return err
		}
	}
	return nil
}

// entry is a word in the dictionary.
func entry(start int64, pages, bound uint32, word int64) []byte {
	b := make([]byte, 0, dictionaryEntry)
	b = binary.LittleEndian.AppendUint64(b, uint64(start))
	b = binary.LittleEndian.AppendUint32(b, pages)
	b = binary.LittleEndian.AppendUint32(b, bound)
	return binary.LittleEndian.AppendUint64(b, uint64(word))
}

func (w *writer) mergeWords(ctx context.Context, list, words, dictionary *sectionWriter) error {
	var cursors []*runWords
	for i, r := range w.runs {
		cursors = append(cursors, newRunWords(i, r))
	}
	heap, err := newMerge(cursors)
	if err != nil {
		return err
	}
	e := &encoder{norm: func(page uint32) float64 { return w.norms.of(w.lengths[page]) }}
	var word, coded []byte
	var pages []uint64
	for len(heap) > 0 {
		word = append(word[:0], heap[0].word...)
		if pages, err = pagesOf(word, &heap, w.numbers, pages[:0]); err != nil {
			return err
		}
		var bound uint32
		coded, bound = e.appendPages(coded[:0], pages)
		err := writeAll(part{dictionary, entry(list.len(), uint32(len(pages)), bound, words.len())}, part{list, coded}, part{words, word})
		if err != nil {
			return err
		}
		w.header.Distinct++
		if err := w.report(ctx, len(pages)); err != nil {
			return err
		}
	}
	return nil
}

// pagesOf appends the pages of all runs with a word, the first of the heap, in
// the form that encoder.appendPages expects. numbers are the pages by run.
func pagesOf(word []byte, heap *merge[*runWords], numbers [][]uint32, pages []uint64) ([]uint64, error) {
	for len(*heap) > 0 && bytes.Equal((*heap)[0].word, word) {
		r := (*heap)[0]
		var err error
		if pages, err = r.appendPages(pages, numbers[r.run]); err != nil {
			return nil, err
		}
		if err := heap.advance(); err != nil {
			return nil, err
		}
	}
	if !slices.IsSorted(pages) {
		slices.Sort(pages)
	}
	return pages, nil
}

// report counts written pages or words. Every reportEvery it reports progress,
// and returns an error if the build was interrupted.
func (w *writer) report(ctx context.Context, n int) error {
	if w.unreported += n; w.unreported < reportEvery {
		return nil
	}
	w.options.Progress.Add(int64(w.unreported))
	w.unreported = 0
	return ctx.Err()
}

// writeHeader writes the checksums and the header.
func (w *writer) writeHeader() error {
	w.header.Checksums = digest.Of(w.sums)
	s := newSectionWriter(w.file, align(w.end))
	if _, err := s.Write(w.sums); err != nil {
		return err
	}
	if err := w.add(s); err != nil {
		return err
	}
	b, err := w.header.encode()
	if err != nil {
		return err
	}
	_, err = w.file.WriteAt(b, 0)
	return err
}
