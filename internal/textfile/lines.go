package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Lines reads text with one object per line, such as JSONL.
type Lines struct {
	file   string
	in     *bufio.Reader
	number int
	long   []byte // a line that is longer than the reader's buffer
}

// NewLines reads in, which errors call file.
func NewLines(file string, in io.Reader) *Lines {
	return &Lines{file: file, in: bufio.NewReaderSize(in, 1<<16)}
}

// NewLinesAt reads the lines of a file from a later place; lines is the number of lines before it.
func NewLinesAt(file string, in io.Reader, lines int) *Lines {
	l := NewLines(file, in)
	l.number = lines
	return l
}

// Next returns the next line that is not blank, without surrounding white space; it is valid until the next call. After
// the last line, which may lack its newline, it returns io.EOF. A line that is longer than MaxLine or not UTF-8, or
// damaged gzip data, is an *Error; other read errors are unchanged.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return nil, l.wrong(notUTF8(bytes.IndexByte(line, 0) >= 0))
		}
		return line, nil
	}
}

// Number is the number of the last line, counted from 1.
func (l *Lines) Number() int { return l.number }

func (l *Lines) wrong(what error) error { return &Error{File: l.file, Line: l.number, Err: what} }

func (l *Lines) read() ([]byte, error) {
	l.number++
	l.long = l.long[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return piece, nil // the usual case, without a copy
		}
		if len(l.long)+len(piece) > MaxLine {
			return nil, l.wrong(tooLong())
		}
		l.long = append(l.long, piece...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(l.long) > 0 && !errors.Is(err, io.ErrUnexpectedEOF):
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, readError(l.file, l.number, err)
		}
	}
}

func tooLong() error {
	return faultf("the line is longer than %d MiB, the most that is read", MaxLine>>20)
}

func notUTF8(zeros bool) error {
	if zeros {
		return &Fault{"is not UTF-8 text; it contains zero bytes", encodingAdvice("UTF-16")}
	}
	return &Fault{"is not UTF-8 text", encodingAdvice("ISO-8859-1")}
}
