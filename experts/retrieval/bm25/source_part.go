package bm25

import (
	"bytes"
	"context"

	"pipe/internal/storage"
)

// Cut is a place between two lines of the files of pages.
type Cut struct {
	File   int   `json:"file"`   // in the order of their names
	Offset int64 `json:"offset"` // bytes of the file before it
	Line   int   `json:"line"`   // the line that follows, counted from 1
}

// Part is a range of the lines of the files of pages: a shard of an index.
type Part struct {
	From Cut `json:"from"`
	To   Cut `json:"to"`
}

// Cuts is how pages are cut into parts.
type Cuts struct {
	Source string `json:"source"` // digest of the pages, which is that of the index
	Parts  []Part `json:"parts"`
}

// PartFormat changes whenever the files of BuildPart do.
const PartFormat = 1

// PageFiles are the files of pages, in the order in which they are read.
func PageFiles(ctx context.Context, path storage.Location) ([]storage.Location, error) {
	s, err := openSource(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.files, nil
}

// CutPages reads all pages once and cuts them into n parts of about equal size. With few lines, some are empty.
func CutPages(ctx context.Context, path storage.Location, n int) (*Cuts, error) {
	s, err := openSource(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &Cuts{Parts: make([]Part, n)}
	next, done, inFile, file := 1, int64(0), int64(0), 0
	c.Source, err = s.read(ctx, func(p piece) bool {
		if p.file != file {
			inFile, file = 0, p.file
		}
		for ; next < n; next++ {
			target := s.bytes * int64(next) / int64(n)
			if target >= done+int64(len(p.data)) {
				break
			}
			end := lineEnd(p.data, max(0, target-done))
			c.Parts[next].From = Cut{p.file, inFile + int64(end), p.line + bytes.Count(p.data[:end], newline)}
		}
		done, inFile = done+int64(len(p.data)), inFile+int64(len(p.data))
		return true
	})
	if err != nil {
		return nil, err
	}
	end := Cut{File: len(s.files)}
	for i := next; i < n; i++ {
		c.Parts[i].From = end
	}
	c.Parts[0].From = Cut{Line: 1}
	for i := range n {
		if c.Parts[i].To = end; i+1 < n {
			c.Parts[i].To = c.Parts[i+1].From
		}
	}
	return c, nil
}

// lineEnd is where the line that has a byte ends.
func lineEnd(data []byte, at int64) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return int(at) + i + 1
	}
	return len(data)
}

// has reports whether a part has lines of a file.
func (p *Part) has(file int) bool {
	return file >= p.From.File && (file < p.To.File || file == p.To.File && p.To.Offset > 0)
}

// within is where the part begins in a file of the given size, and the offset at which it ends.
func (p *Part) within(file int, size int64) (from Cut, to int64) {
	if from = (Cut{File: file, Line: 1}); file == p.From.File {
		from = p.From
	}
	if file == p.To.File {
		size = p.To.Offset
	}
	return from, size
}
