package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pipe/internal/safetext"
	"pipe/pipeline/exitcode"
)

// UsageError is an error in the command line.
type UsageError struct {
	Msg     string
	Command string // whose help explains it
}

func (e *UsageError) Error() string { return e.Msg }

// Hint names the help.
func (e *UsageError) Hint() string { return "see " + e.Command + " --help" }

// Usage returns a *UsageError of a command.
func Usage[C interface{ CommandPath() string }](c C, format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...), c.CommandPath()}
}

// NoArgs refuses arguments.
func NoArgs[C interface{ CommandPath() string }](c C, args []string) error {
	if len(args) > 0 {
		return Usage(c, "unexpected argument %q", args[0])
	}
	return nil
}

// Finding ends a run that went well, with an exit code that says what it found.
type Finding struct {
	Code       int
	Label, Msg string // the message; "": standard output says it
}

func (f *Finding) Error() string { return f.Msg }

// exitCode returns the code of an error. other has those of errors that package exitcode does not know.
func exitCode(ctx context.Context, err error, other func(error) int) int {
	var wrong *UsageError
	var found *Finding
	switch {
	case err == nil:
		return exitcode.OK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	case errors.As(err, &wrong):
		return exitcode.Usage
	case errors.As(err, &found):
		return found.Code
	}
	if code, known := exitcode.Of(err); known {
		return code
	}
	return other(err)
}

// exit says what went wrong and returns the exit code.
func (p *Program) exit(ctx context.Context, err error, other func(error) int) int {
	code := exitCode(ctx, err, other)
	p.report.Close() // an error may have left a progress bar on the line
	var found *Finding
	switch {
	case code == exitcode.OK, errors.Is(err, syscall.EPIPE): // the reader of our output has closed it
	case code == exitcode.Interrupted:
		p.message("", p.Interrupted)
	case errors.As(err, &found):
		p.message(found.Label, found.Msg)
	case p.colour():
		p.message("\x1b[31merror:\x1b[0m ", err.Error())
		p.message("hint: ", hintFor(err))
	default:
		p.message("error: ", err.Error())
		p.message("hint: ", hintFor(err))
	}
	return code
}

// message writes a message to standard error, unless it is empty. It makes it safe for a terminal, and indents lines after
// the first: they may come from a file, and must not look like a message of the program.
func (p *Program) message(label, text string) {
	lines := strings.Split(safetext.Lines(text), "\n")
	for i, line := range lines[1:] {
		if !strings.HasPrefix(line, " ") {
			lines[1+i] = "  " + line
		}
	}
	if text != "" {
		fmt.Fprintf(p.Stderr, "%s: %s%s\n", p.Name, label, strings.Join(lines, "\n"))
	}
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
	case errors.Is(err, fs.ErrNotExist):
		return missing(err)
	case errors.Is(err, fs.ErrPermission) && unreadable(err) != "":
		return unreadable(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "choose a folder that you can write to, with --out"
	}
	return ""
}

// missing is the hint for a file or folder that is not there, "" if that is not what is missing.
func missing(err error) string {
	var at *fs.PathError
	if !errors.As(err, &at) || at.Op != "stat" && at.Op != "lstat" && at.Op != "open" {
		return ""
	}
	path, failed := filepath.Abs(at.Path)
	if failed != nil {
		return ""
	}
	for { // to the first folder that is not there
		_, err := os.Stat(filepath.Dir(path))
		if err == nil {
			return fmt.Sprintf("check the spelling: the folder %q has no %q", filepath.Dir(path), filepath.Base(path))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		path = filepath.Dir(path)
	}
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
