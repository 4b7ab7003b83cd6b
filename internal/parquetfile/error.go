package parquetfile

import "fmt"

// Error is about the content of a file: it is damaged, it is no Parquet file,
// or it uses something that is not read. Its text follows the name of a file or
// of a column.
type Error struct {
	msg  string
	hint string
}

// Error says what is wrong.
func (e *Error) Error() string { return e.msg }

// Hint says what to do about it; it may be empty.
func (e *Error) Hint() string { return e.hint }

func damaged(format string, args ...any) error {
	return &Error{msg: "cannot be read, the file is damaged: " + fmt.Sprintf(format, args...)}
}

func truncated() error { return &Error{msg: "is no Parquet file, or a truncated one"} }

// unread reports a feature of the format that this package does not have.
func unread(hint, format string, args ...any) error {
	return &Error{msg: fmt.Sprintf(format, args...), hint: hint}
}

// rewrite is advice for files with features that are not read.
const rewrite = `write it again, for example in Python: import pyarrow.parquet as pq; pq.write_table(pq.read_table("in.parquet"), "out.parquet")`

func claim(rows, width int, size int64) string {
	return fmt.Sprintf("it is damaged or compressed beyond what is believed: %d rows of %d values in %d bytes", rows, width, size)
}

// errLength says that compressed bytes are for another length than the page's
// header says.
func errLength(size int) error { return fmt.Errorf("does not decompress to %d bytes", size) }
