package bm25

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

const (
	// pieceLen is the approximate number of bytes that a worker gets at a time.
	pieceLen = 1 << 20
)

// source is the input files of an index.
type source struct {
	files []storage.Location
	sizes []int64
	bytes int64
	only  *Part // nil: all of them
}

// piece is a run of whole lines of a file.
type piece struct {
	file int // index in the source's files
	line int // number of the first line
	data []byte
}

// openSource lists the .jsonl files of a folder, in the order of their names, or
// takes the one file that path is.
func openSource(ctx context.Context, path storage.Location) (*source, error) {
	info, err := path.Stat(ctx)
	if err != nil {
		return nil, err
	}
	s := &source{}
	if !info.IsDir() {
		s.files = []storage.Location{path}
	} else if s.files, err = listPages(ctx, path); err != nil {
		return nil, err
	}
	for _, file := range s.files {
		info, err := file.Stat(ctx)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, &PageError{File: file.String(), Msg: "is not a regular file"}
		}
		s.sizes = append(s.sizes, info.Size())
		s.bytes += info.Size()
	}
	return s, nil
}

func listPages(ctx context.Context, folder storage.Location) ([]storage.Location, error) {
	entries, err := folder.ReadDir(ctx)
	if err != nil {
		return nil, err
	}
	var files []storage.Location
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, ".") {
			files = append(files, folder.Join(name))
		}
	}
	if len(files) == 0 {
		return nil, &PageError{File: folder.String(), Msg: "has no .jsonl file"}
	}
	return files, nil
}

// read passes all files to take, in pieces and in order, and returns the digest
// of their names and bytes. take owns the data of a piece; it returns false to
// stop.
func (s *source) read(ctx context.Context, take func(piece) bool) (all string, err error) {
	h := digest.New()
	for i, file := range s.files {
		if s.only != nil && !s.only.has(i) {
			continue
		}
		sum := sha256.New()
		more, err := s.readFile(ctx, i, sum, take)
		if err != nil || !more {
			return "", err
		}
		fmt.Fprintf(h, "%x  %s\n", sum.Sum(nil), file.Base())
	}
	return digest.Sum(h), nil
}

// SourceDigest returns the digest of pages, which the header of their index contains.
func SourceDigest(ctx context.Context, path storage.Location) (string, error) {
	s, err := openSource(ctx, path)
	if err != nil {
		return "", err
	}
	return s.read(ctx, func(piece) bool { return true })
}

func (s *source) readFile(ctx context.Context, index int, sum io.Writer, take func(piece) bool) (bool, error) {
	f, err := s.files[index].Open(ctx)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if s.only == nil {
		return s.pieces(ctx, f, index, 1, pieceLen, sum, take)
	}
	from, to := s.only.within(index, s.sizes[index])
	return s.pieces(ctx, io.NewSectionReader(f, from.Offset, to-from.Offset), index, from.Line, pieceLen, sum, take)
}

// pieces passes in, the content of a file from a line on, to take in runs of whole lines of about length bytes.
func (s *source) pieces(ctx context.Context, in io.Reader, index, line, length int, sum io.Writer, take func(piece) bool) (bool, error) {
	var rest []byte // the beginning of a line
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		buffer := make([]byte, len(rest)+length)
		copy(buffer, rest)
		n, err := io.ReadFull(in, buffer[len(rest):])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, fmt.Errorf("read %q: %w", s.files[index], err)
		}
		last := err != nil
		buffer = buffer[:len(rest)+n]
		sum.Write(buffer[len(rest):]) // writing to a hash never fails
		end := len(buffer)
		if !last {
			end = bytes.LastIndexByte(buffer, '\n') + 1
		}
		rest = slices.Clone(buffer[end:])
		if len(rest) > textfile.MaxLine {
			return false, &PageError{File: s.files[index].String(), Line: line + bytes.Count(buffer[:end], newline), Msg: fmt.Sprintf("is longer than %d bytes", textfile.MaxLine)}
		}
		if end > 0 && !take(piece{index, line, buffer[:end]}) {
			return false, nil
		}
		if last {
			return true, nil
		}
		line += bytes.Count(buffer[:end], newline)
	}
}

var newline = []byte{'\n'}

// lines calls do for the lines of a piece that are not blank.
func (p piece) lines(do func(line int, text []byte) error) error {
	rest := p.data
	for line := p.line; len(rest) > 0; line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, newline)
		if isBlank(text) {
			continue
		}
		if err := do(line, text); err != nil {
			return err
		}
	}
	return nil
}
