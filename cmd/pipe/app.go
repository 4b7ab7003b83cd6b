package main

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
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// app is the state that all commands share: the standard streams and the global flags.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	json    bool
	quiet   bool
	library string
	device  string
	gpu     int
	threads int

	report   *progress.Reporter // of progress and messages
	patience atomic.Int64       // how long the command may take to stop after a signal, in nanoseconds
}

// patience is how long work may take to stop after a signal. Abandoning it afterwards is always safe, because files
// appear whole or not at all.
const patience = 2 * time.Second

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	a.report = progress.New(stderr, a.colour())
	a.patience.Store(int64(patience))
	return a
}

// runtime is the configuration of ONNX Runtime that the flags ask for.
func (a *app) runtime() ort.Config {
	cfg := ort.DefaultConfig()
	cfg.Library, cfg.Device, cfg.DeviceID, cfg.Threads = a.library, a.device, a.gpu, a.threads
	return cfg
}

// progress reports progress on standard error, unless --quiet.
func (a *app) progress() stage.Progress {
	if a.quiet {
		return stage.Quiet
	}
	return a.report
}

// colour reports whether standard error may have colours: it is a terminal, and NO_COLOR is not set.
func (a *app) colour() bool {
	f, ok := a.stderr.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

// say writes a message to standard error unless --quiet.
func (a *app) say(format string, args ...any) { a.progress().Note("%s", withURLs(format, args...)) }

// printer is a result that can be printed as text.
type printer interface {
	WriteText(w io.Writer) error
}

// print writes a result to standard output: v's JSON with --json, else its text.
func (a *app) print(v printer) error {
	if !a.json {
		return v.WriteText(safetext.Writer(a.stdout))
	}
	if own, ok := v.(interface{ WriteJSON(io.Writer) error }); ok {
		return own.WriteJSON(a.stdout)
	}
	return a.printJSON(v)
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printLine is print for a program that goes on: with --json the object is one line, so that its reader knows the end.
func (a *app) printLine(v printer) error {
	if !a.json {
		return v.WriteText(safetext.Writer(a.stdout))
	}
	return json.NewEncoder(a.stdout).Encode(v)
}

// withURLs replaces the paths of object stores in a message by their URLs.
func withURLs(format string, args ...any) string {
	return storage.ShownIn(fmt.Sprintf(format, args...))
}
