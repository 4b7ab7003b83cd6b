// Package textfile reads untrusted text: lines, CSV and numbers. It defines the limits on such text and the rules for
// what counts as text.
//
// Text is UTF-8, with or without a byte order mark, plain or gzipped. Anything else is an *Error that names the file,
// the line if there is one, and the likely format of the file.
package textfile

import (
	"fmt"
	"strings"
)

// The limits. They bound the memory that one file can take, and are far above the needs of real tables: a row of
// 100,000 numbers of 20 characters has 2 MB.
const (
	// MaxLine is the most bytes of a line. A row of a CSV file counts as one line, with the line breaks inside its
	// quotes.
	MaxLine = 64 << 20
	// MaxColumns is the most columns of a CSV file and the most keys of an object.
	MaxColumns = 1 << 20
	// MaxYAML is the most bytes of a configuration file in YAML, which takes many times its size in memory.
	MaxYAML = 16 << 20
	// MaxConfig is the most bytes of a file of settings in JSON, or of a list, that is read whole.
	MaxConfig = 64 << 20
	// MaxWhole is the most bytes of other text files that are read whole, such as encoders and tokenizers.
	MaxWhole = 1 << 30
	// MaxModel is the most bytes of an ONNX file that is read whole.
	MaxModel = 2 << 30
)

// Error is an error about text that cannot be read, with its place.
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

// Fault is what is wrong with a text, and a hint.
type Fault struct {
	Msg    string
	Advice string // may be empty
}

// Error returns the message.
func (f *Fault) Error() string { return f.Msg }

// Hint returns the hint.
func (f *Fault) Hint() string { return f.Advice }

func faultf(format string, args ...any) *Fault { return &Fault{Msg: fmt.Sprintf(format, args...)} }
