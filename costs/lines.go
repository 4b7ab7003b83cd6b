package costs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a JSONL file, so that a file of another kind does
// not have to fit into memory.
const maxLine = 64 << 20

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

// Next returns the next line that is not blank, without the white space around
// it; it is valid until the next call. After the last line, which may lack its
// newline, it returns io.EOF. A line of more than 64 MiB is a *DataError; errors
// of the medium stay what they are.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// Number is that of the line last read, counted from 1.
func (l *Lines) Number() int { return l.number }

func (l *Lines) read() ([]byte, error) {
	l.number++
	l.long = l.long[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return piece, nil // the usual case, without a copy
		}
		l.long = append(l.long, piece...)
		switch {
		case len(l.long) > maxLine:
			return nil, &DataError{File: l.file, Row: l.number, Msg: fmt.Sprintf("is longer than %d bytes", maxLine)}
		case err == nil, errors.Is(err, io.EOF) && len(l.long) > 0:
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
