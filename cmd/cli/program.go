// Package cli is what the command-line programs of this repository share: their streams and messages, signals, and
// how errors end them. It knows no command. A program makes a Program, gives it its commands, and ends with the code of Run.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"pipe/internal/progress"
	"pipe/internal/safetext"
	"pipe/pipeline/stage"
)

// Program is one run of a program: its standard streams, and the flags that all its commands have.
type Program struct {
	Name        string // begins every message
	Interrupted string // the message after a signal
	Stdin       io.Reader
	Stdout      io.Writer
	Stderr      io.Writer
	JSON        bool // results are JSON objects instead of text
	Quiet       bool // no progress and no messages, except errors

	report   *progress.Reporter
	patience atomic.Int64
}

// New returns a program whose work may take as long as patience to stop after a signal.
func New(name string, patience time.Duration, stdin io.Reader, stdout, stderr io.Writer) *Program {
	p := &Program{Name: name, Interrupted: "interrupted", Stdin: stdin, Stdout: stdout, Stderr: stderr}
	p.report = progress.New(stderr, p.colour())
	p.Await(patience)
	return p
}

// Await changes how long work may take to stop after a signal. Abandoning it afterwards is always safe, because files
// appear whole or not at all.
func (p *Program) Await(patience time.Duration) { p.patience.Store(int64(patience)) }

// Progress reports progress on standard error, unless the program is quiet.
func (p *Program) Progress() stage.Progress {
	if p.Quiet {
		return stage.Quiet
	}
	return p.report
}

// Say writes a message to standard error, unless the program is quiet.
func (p *Program) Say(format string, args ...any) {
	p.Progress().Note("%s", fmt.Sprintf(format, args...))
}

// Print writes a result to standard output: its text if it has one, and else, or with JSON set, a JSON object.
func (p *Program) Print(v any) error {
	if text, ok := v.(interface{ WriteText(io.Writer) error }); ok && !p.JSON {
		return text.WriteText(safetext.Writer(p.Stdout))
	}
	if own, ok := v.(interface{ WriteJSON(io.Writer) error }); ok {
		return own.WriteJSON(p.Stdout)
	}
	e := json.NewEncoder(p.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// colour reports whether standard error may have colours: it is a terminal, and NO_COLOR is not set.
func (p *Program) colour() bool {
	f, ok := p.Stderr.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}
