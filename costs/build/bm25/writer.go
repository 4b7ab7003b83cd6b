package bm25

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
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
}

// reportEvery is how many things are written between two reports of progress, at
// which a build can also be interrupted.
const reportEvery = 1 << 14

// write writes the whole file.
func (w *writer) write(ctx context.Context) error {
	w.header = Header{
		Settings: w.options.Settings, Analyzer: analyzerVersion, Pages: w.pages(), Skipped: w.skipped, Source: w.digest,
	}
	if w.header.Pages > maxPages {
		return fmt.Errorf("there are %d pages; an index holds %d", w.header.Pages, maxPages)
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

// writePages merges the pages of the runs and numbers them in the order of their
// ids.
func (w *writer) writePages(ctx context.Context) error {
	pages := newSectionWriter(w.file, align(w.end))
	total := int64(0)
	var cursors []*runPages
	for i, r := range w.runs {
		total += r.bytes
		cursors = append(cursors, newRunPages(i, r))
		w.numbers = append(w.numbers, make([]uint32, 0, r.pages))
	}
	// The sizes of the sections are known, so that all can be written at once.
	n := int64(w.header.Pages)
	starts := newSectionWriter(w.file, align(pages.offset+total))
	texts := newSectionWriter(w.file, align(starts.offset+8*(n+1)))
	lengths := newSectionWriter(w.file, align(texts.offset+4*n))
	heap, err := newMerge(cursors)
	if err != nil {
		return err
	}
	var last []byte
	var lastAt place
	for len(heap) > 0 {
		p := heap[0]
		number := len(w.lengths)
		if number%reportEvery == reportEvery-1 {
			w.options.Progress.Add(reportEvery)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if number > 0 && bytes.Equal(p.id, last) {
			return w.source.twice(p.id, lastAt, p.place)
		}
		last, lastAt = append(last[:0], p.id...), p.place
		err := writeAll(part{starts, u64(uint64(pages.len()))}, part{texts, u32(uint32(len(p.id)))}, part{lengths, u32(p.words)}, part{pages, p.id}, part{pages, p.text})
		if err != nil {
			return err
		}
		w.numbers[p.run] = append(w.numbers[p.run], uint32(number))
		w.lengths = append(w.lengths, p.words)
		if err := heap.advance(); err != nil {
			return err
		}
	}
	if _, err := starts.Write(u64(uint64(pages.len()))); err != nil {
		return err
	}
	for _, s := range []*sectionWriter{pages, starts, texts, lengths} {
		if err := w.add(s); err != nil {
			return err
		}
	}
	return nil
}

// part is bytes and where they go.
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

// writeWords merges the words of the runs. The sections of words and dictionary,
// whose sizes are not known before the end, wait in temporary files.
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
	written := 0
	for len(heap) > 0 {
		if written >= reportEvery {
			w.options.Progress.Add(int64(written))
			written = 0
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		word, pages = append(word[:0], heap[0].word...), pages[:0]
		for len(heap) > 0 && bytes.Equal(heap[0].word, word) {
			if pages, err = heap[0].appendPages(pages, w.numbers[heap[0].run]); err != nil {
				return err
			}
			if err := heap.advance(); err != nil {
				return err
			}
		}
		if !slices.IsSorted(pages) {
			slices.Sort(pages)
		}
		var bound uint32
		coded, bound = e.appendPages(coded[:0], pages)
		err := writeAll(part{dictionary, entry(list.len(), uint32(len(pages)), bound, words.len())}, part{list, coded}, part{words, word})
		if err != nil {
			return err
		}
		w.header.Distinct++
		written += len(pages) + 1
	}
	return nil
}

// writeHeader writes the checksums and the header.
func (w *writer) writeHeader() error {
	w.header.Checksums = sumOf(w.sums)
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
