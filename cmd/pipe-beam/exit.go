package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/cmd/pipe-beam/job"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/exitcode"
)

// exitCode returns that of pipe for the same error, also where a worker had it.
func exitCode(ctx context.Context, err error) int {
	var wrong *usageError
	var elsewhere *job.Problem
	switch {
	case err == nil:
		return exitcode.OK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	case errors.As(err, &wrong):
		return exitcode.Usage
	case errors.As(err, &elsewhere):
		return elsewhere.Code
	}
	code, _ := exitcode.Of(err)
	return code
}

// exit prints what went wrong and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	a.report.Close() // an error may have left a progress bar on the line
	switch code {
	case exitcode.OK:
	case exitcode.Interrupted:
		fmt.Fprintln(a.stderr, "pipe-beam: interrupted; shards that are done are kept")
	default:
		fmt.Fprintf(a.stderr, "pipe-beam: error: %s\n", indented(storage.ShownIn(err.Error())))
		if h := interface{ Hint() string }(nil); errors.As(err, &h) && h.Hint() != "" {
			fmt.Fprintf(a.stderr, "pipe-beam: hint: %s\n", indented(storage.ShownIn(h.Hint())))
		}
	}
	return code
}

// indented makes a message safe for a terminal, with lines after the first that do not look like messages of the program.
func indented(message string) string {
	return strings.ReplaceAll(safetext.Lines(message), "\n", "\n  ")
}
