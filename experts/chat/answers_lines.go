package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"pipe/internal/textfile"
)

// errLongLine is the error of a line longer than this program writes.
var errLongLine = fmt.Errorf("the line is longer than %d MiB", textfile.MaxLine>>20)

// wholeLines calls take for every line that ends with a newline, newline included, and returns the end of the last one.
// Anything after it was left by a killed process. A line is valid until take returns. A line of more than
// textfile.MaxLine bytes gives errLongLine.
func wholeLines(in io.Reader, take func(line []byte) error) (whole int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	var long []byte // a line that is longer than the reader's buffer
	for {
		line, err := r.ReadSlice('\n')
		if len(long)+len(line) > textfile.MaxLine {
			return whole, errLongLine
		}
		if err != nil || len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return whole, nil
		case err != nil:
			return whole, err
		}
		if err := take(line); err != nil {
			return whole, err
		}
		whole, long = whole+int64(len(line)), long[:0]
	}
}
