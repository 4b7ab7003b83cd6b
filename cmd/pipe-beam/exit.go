package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/internal/safetext"
	"pipe/internal/textfile"
	"pipe/onnx/ort"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// The exit codes, which are those of pipe.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitBadData     = 3
	exitNoRuntime   = 4
	exitInterrupted = 130
)

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func exitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case is[*usageError](err), is[*stage.UnknownError](err), is[*stage.OptionError](err):
		return exitUsage
	case is[*ort.MissingLibraryError](err), is[*ort.LoadError](err), is[*ort.VersionError](err), is[*ort.DeviceError](err):
		return exitNoRuntime
	case is[*costs.DataError](err), is[*textfile.Error](err), is[*config.Error](err), is[*shards.ChangedError](err), errors.Is(err, fs.ErrNotExist):
		return exitBadData
	}
	return exitFailure
}

// exit prints what went wrong and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	a.report.Close() // an error may have left a progress bar on the line
	switch code {
	case exitOK:
	case exitInterrupted:
		fmt.Fprintln(a.stderr, "pipe-beam: interrupted; shards that are done are kept")
	default:
		fmt.Fprintf(a.stderr, "pipe-beam: error: %s\n", indented(err.Error()))
		if h := interface{ Hint() string }(nil); errors.As(err, &h) && h.Hint() != "" {
			fmt.Fprintf(a.stderr, "pipe-beam: hint: %s\n", indented(h.Hint()))
		}
	}
	return code
}

// indented makes a message safe for a terminal, with lines after the first that do not look like messages of the program.
func indented(message string) string {
	return strings.ReplaceAll(safetext.Lines(message), "\n", "\n  ")
}
