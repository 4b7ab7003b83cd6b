package decisionlog

import (
	"bufio"
	"errors"
	"io"
	"os"

	"pipe/internal/dataerror"
)

// Damage counts the lines of open segments that were left out.
type Damage struct {
	Torn    int `json:"torn"`    // at the end of a segment: the write was cut off
	Damaged int `json:"damaged"` // elsewhere: bytes were lost or changed on the disk
}

func (d *Damage) add(o Damage) {
	d.Torn += o.Torn
	d.Damaged += o.Damaged
}

// readLines calls use with the body of every line that is whole, except the first one, which names the format. Lines that
// are not whole are counted. The end of a file that is being written may be torn.
func readLines(s *segment, use func(kind lineKind, body []byte) error) (d Damage, err error) {
	file, err := os.Open(s.path(linesEnding))
	if err != nil {
		return d, err
	}
	defer file.Close()
	l := lineReader{in: bufio.NewReaderSize(file, 1<<18)}
	bad := 0 // lines that are not whole since the last one that is
	for n := 1; ; n++ {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			d.Torn += bad
			return d, nil
		}
		if err != nil {
			return d, dataerror.InFile(s.path(linesEnding), err)
		}
		body, err := unseal(line)
		if err != nil {
			bad++
			continue
		}
		d.Damaged += bad
		bad = 0
		switch err := useLine(s, body, use); {
		case errors.Is(err, errLost):
			d.Damaged++
		case err != nil:
			return d, dataerror.InFile(s.path(linesEnding), &dataerror.Error{Line: n, Err: err})
		}
	}
}

// errLost means that a record cannot be read because the line with its policy is damaged.
var errLost = errors.New("the line that describes the policy is damaged")

func useLine(s *segment, body []byte, use func(kind lineKind, body []byte) error) error {
	kind := kindOf(body)
	switch kind {
	case headLine:
		return readHead(body, s.stream)
	case unknownLine:
		return errors.New("the line is none of a decision, an outcome and a policy")
	}
	return use(kind, body)
}

// lineReader reads lines of bounded length.
type lineReader struct {
	in   *bufio.Reader
	long []byte
}

// next returns a line without its end, valid until the next call. A line that is too long is returned in part, and its
// rest is skipped: its checksum does not fit. So is a last line without an end. At the end the error is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		switch {
		case err == nil && len(l.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			return append(l.long, part[:len(part)-1]...), nil
		case errors.Is(err, io.EOF) && len(l.long)+len(part) > 0:
			return []byte("torn"), nil // without an end, even a line with a checksum is not taken
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if len(l.long) < maxLine {
			l.long = append(l.long, part...)
		}
	}
}
