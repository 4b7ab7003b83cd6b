package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pipe/internal/safetext"
	"pipe/pipeline/compare"
	"pipe/pipeline/exitcode"
	"pipe/serve"
)

// The exit codes.
const (
	exitOK          = exitcode.OK
	exitFailure     = exitcode.Failure
	exitUsage       = exitcode.Usage
	exitBadData     = exitcode.BadData
	exitNoRuntime   = exitcode.NoRuntime
	exitAlarm       = exitcode.Alarm
	exitInterrupted = exitcode.Interrupted
)

// usageError is an error in the command line.
type usageError struct {
	msg  string
	help string // the command whose help explains it
}

func (e *usageError) Error() string { return e.msg }
func (e *usageError) Hint() string  { return "see " + e.help + " --help" }

func usage(c *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), c.CommandPath()}
}

// alarmError says that the run went well, and found what it was asked to look for.
type alarmError struct{ msg string }

func (e *alarmError) Error() string { return e.msg }

// required is a usage error that names required flags without a value.
func required(c *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if f := c.Flag(name); f == nil || f.Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage(c, "%s needs a value", strings.Join(missing, " and "))
}

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
	case is[*usageError](err):
		return exitUsage
	case is[*alarmError](err):
		return exitAlarm
	case is[*compare.DifferentError](err): // as diff and cmp do
		return exitFailure
	}
	code, known := exitcode.Of(err)
	if !known && is[*serve.CheckError](err) {
		return exitBadData
	}
	return code
}

// exit prints what went wrong and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	a.report.Close() // an error may have left a progress bar on the line
	switch {
	case code == exitOK, errors.Is(err, syscall.EPIPE): // the reader of our output has closed it
	case is[*compare.DifferentError](err): // standard output says what differs
	case code == exitInterrupted:
		fmt.Fprintln(a.stderr, "pipe: interrupted")
	case code == exitAlarm:
		fmt.Fprintf(a.stderr, "pipe: alarm: %s\n", indented(err.Error()))
	default:
		a.complain(err)
	}
	return code
}

func (a *app) complain(err error) {
	label := "error:"
	if a.colour() {
		label = "\x1b[31merror:\x1b[0m"
	}
	fmt.Fprintf(a.stderr, "pipe: %s %s\n", label, indented(withURLs("%v", err)))
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(a.stderr, "pipe: hint: %s\n", indented(withURLs("%s", hint)))
	}
}

// indented makes a message safe for a terminal. It indents lines after the first: they may come from a file, and must
// not look like a message of the program.
func indented(message string) string {
	lines := strings.Split(safetext.Lines(message), "\n")
	for i, line := range lines[1:] {
		if !strings.HasPrefix(line, " ") {
			lines[1+i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// hintFor is the hint of an error, or a hint for common errors of the operating system.
func hintFor(err error) string {
	var h interface{ Hint() string }
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		return h.Hint()
	case errors.Is(err, syscall.EFBIG):
		return "the file is larger than this user, shell or file system allows (ulimit -f shows the limit of the shell)"
	case exitcode.NoRoom(err):
		return "the disk is full: free some space, then run the same command again"
	case errors.Is(err, fs.ErrPermission) && unreadable(err) != "":
		return unreadable(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "choose a folder that you can write to, with --out"
	}
	return ""
}

// unreadable is the hint for a file or folder that could not be read, "" if the error is about writing. Outputs are
// written under a temporary name first, so a file that existed and was opened was an input.
func unreadable(err error) string {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return ""
	}
	switch at.Op {
	case "open":
		info, err := os.Stat(at.Path)
		if err == nil && info.IsDir() {
			return "the folder exists, but this user may not read it"
		}
		if err == nil && info.Mode().IsRegular() {
			return "the file exists, but this user may not read it"
		}
	case "stat", "lstat":
		return "this user may not enter a folder of the path"
	}
	return ""
}
