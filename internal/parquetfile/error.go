package parquetfile

import "fmt"

// Error is about the content of a file: it is damaged, it is not Parquet, or it uses a feature that is not supported.
// Its text follows the name of a file or of a column.
type Error struct {
	msg  string
	hint string
}

// Error returns the message.
func (e *Error) Error() string { return e.msg }

// Hint returns advice for the user; it may be empty.
func (e *Error) Hint() string { return e.hint }

func damaged(format string, args ...any) error {
	return &Error{msg: "cannot be read, the file is damaged: " + fmt.Sprintf(format, args...)}
}

func truncated() error {
	return &Error{
		msg:  "is not a Parquet file, or is truncated",
		hint: "a cost tensor is a Parquet file that pipe import or pipe costs wrote; for a table of outcomes, such as a CSV file, begin with pipe init FILE",
	}
}

// unread reports a feature of the format that is not supported.
func unread(hint, format string, args ...any) error {
	return &Error{msg: fmt.Sprintf(format, args...), hint: hint}
}

// rewrite is the hint for files with unsupported features.
const rewrite = `write it again, for example in Python: import pyarrow.parquet as pq; pq.write_table(pq.read_table("in.parquet"), "out.parquet")`

func claim(rows, width int, size int64) string {
	return fmt.Sprintf("it is damaged or compressed implausibly well: %d rows of %d values in %d bytes", rows, width, size)
}

// errLength means that compressed bytes do not decompress to the length in the page header.
func errLength(size int) error { return fmt.Errorf("does not decompress to %d bytes", size) }
