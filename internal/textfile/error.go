// Package textfile reads text that other programs wrote: lines, CSV and numbers. It is the one home of the limits on
// such text and of the rules of what counts as text.
//
// Text is UTF-8, with or without a byte order mark, plain or gzipped. Anything else is an *Error that names the file,
// the line where there is one, and what the file seems to be.
package textfile

import (
	"fmt"
	"strings"
)

// The limits. They bound the memory that one file can ask for, and are far above what real tables need: a row of
// 100,000 numbers of 20 characters has 2 MB.
const (
	// MaxLine is the most bytes of a line. A row of a CSV file counts as one line, with the line breaks inside its
	// quotes.
	MaxLine = 64 << 20
	// MaxColumns is the most columns of a CSV file and the most keys of an object.
	MaxColumns = 1 << 20
	// MaxYAML is the most bytes of a configuration file in YAML, whose form in memory is many times as large.
	MaxYAML = 16 << 20
	// MaxConfig is the most bytes of a file of settings in JSON, or of a list, that is read whole.
	MaxConfig = 64 << 20
	// MaxWhole is the most bytes of other text files that are read whole, such as encoders and tokenizers.
	MaxWhole = 1 << 30
	// MaxModel is the most bytes of a file in the format of ONNX, which is read whole.
	MaxModel = 2 << 30
)

// Error is text that cannot be read, and where it is.
type Error struct {
	File   string
	Line   int    // counted from 1; 0 if no line is meant
	Column string // of a CSV file; "" if none is meant
	Err    error  // what is wrong, without the place
}

// Error returns `"file": line 7: column a: what is wrong`.
func (e *Error) Error() string {
	parts := []string{fmt.Sprintf("%q", e.File)}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Column != "" {
		parts = append(parts, "column "+e.Column)
	}
	return strings.Join(append(parts, e.Err.Error()), ": ")
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Fault is what is wrong with a text, and what helps.
type Fault struct {
	Msg    string
	Advice string // "": none
}

// Error returns the message.
func (f *Fault) Error() string { return f.Msg }

// Hint returns the advice.
func (f *Fault) Hint() string { return f.Advice }

func faultf(format string, args ...any) *Fault { return &Fault{Msg: fmt.Sprintf(format, args...)} }
