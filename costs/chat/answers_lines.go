package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"pipe/internal/textfile"
)

// errLongLine is a line that no program of ours has written.
var errLongLine = fmt.Errorf("the line is longer than %d MiB", textfile.MaxLine>>20)

// wholeLines calls take for every line that has its newline, which comes with it, and returns where the last of them ends.
// What follows was being written when a process was killed. A line is valid until take returns; one of more than
// textfile.MaxLine bytes is errLongLine.
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
