package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/chat"
	"pipe/experts/service"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/stage"
)

func unknown(error) int { return exitcode.Failure }

// TestMessages: an error has one line, its hint another; further lines are indented. A finding has its label, or no message.
func TestMessages(t *testing.T) {
	for want, err := range map[string]error{
		"pipe: error: a\n  b\n": errors.New("a\nb"),
		"pipe: error: no such flag\npipe: hint: see pipe train --help\n": &UsageError{"no such flag", "pipe train"},
		"pipe: alarm: drift\n": &Finding{exitcode.Alarm, "alarm: ", "drift"},
		"":                     &Finding{Code: exitcode.Failure},
	} {
		var said bytes.Buffer
		New("pipe", time.Second, nil, nil, &said).Run(t.Context(), func(context.Context) error { return err }, unknown)
		if said.String() != want {
			t.Errorf("%v: says %q, want %q", err, said.String(), want)
		}
	}
}

// TestAbandons: work that does not stop is left behind.
func TestAbandons(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	code := New("pipe", time.Millisecond, nil, nil, &said).Run(ctx, func(context.Context) error { select {} }, unknown)
	if code != exitcode.Interrupted || said.String() != "pipe: interrupted\n" {
		t.Errorf("exit code %d, %q", code, said.String())
	}
}

// A file that may not grow is not a full disk.
func TestFileSizeLimit(t *testing.T) {
	err := fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "f", Err: syscall.EFBIG})
	if hint := hintFor(err); !strings.Contains(hint, "ulimit -f") || strings.Contains(hint, "disk") || exitCode(t.Context(), err, unknown) != exitcode.Failure {
		t.Errorf("hint %q", hint)
	}
}

func TestExitCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, exitcode.OK},
		{t.Context(), errors.New("x"), exitcode.Failure},
		{t.Context(), fmt.Errorf("a: %w", &UsageError{}), exitcode.Usage},
		{t.Context(), fmt.Errorf("a: %w", &stage.UnknownError{}), exitcode.Usage},
		{t.Context(), fmt.Errorf("a: %w", &stage.OptionError{Err: errors.New("x")}), exitcode.Usage},
		{t.Context(), fmt.Errorf("a: %w", &costs.DataError{}), exitcode.BadData},
		{t.Context(), &builder.PartError{Part: "a", Err: &chat.BudgetError{}}, exitcode.Failure},
		{t.Context(), &builder.PartError{Part: "a", Err: &service.Error{}}, exitcode.Failure},
		{t.Context(), &builder.PartError{Part: "a", Err: &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}}, exitcode.Failure},
		{t.Context(), errors.Join(errors.New("x"), &config.Error{Problems: []string{"y"}}), exitcode.BadData},
		{t.Context(), fmt.Errorf("a: %w", &ort.MissingLibraryError{}), exitcode.NoRuntime},
		{t.Context(), fmt.Errorf("a: %w", &ort.DeviceError{}), exitcode.NoRuntime},
		{t.Context(), &fs.PathError{Op: "read", Path: "x", Err: syscall.EISDIR}, exitcode.BadData},
		{t.Context(), fmt.Errorf("a: %w", &Finding{Code: exitcode.Alarm}), exitcode.Alarm},
		{cancelled, fmt.Errorf("a: %w", context.Canceled), exitcode.Interrupted},
		{t.Context(), context.Canceled, exitcode.Failure}, // no signal came
	} {
		if got := exitCode(c.ctx, c.err, unknown); got != c.want {
			t.Errorf("exit code of %v is %d, want %d", c.err, got, c.want)
		}
	}
}

// For a file that is not there, the hint names the first folder of the path that lacks something.
func TestMissingHints(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "nope.csv"):         fmt.Sprintf("the folder %q has no %q", dir, "nope.csv"),
		filepath.Join(dir, "nope", "a", "b.c"): fmt.Sprintf("the folder %q has no %q", dir, "nope"),
	} {
		_, stat := os.Stat(path)
		_, open := os.Open(path)
		for _, err := range []error{stat, open} {
			if got := hintFor(fmt.Errorf("a: %w", err)); !strings.Contains(got, want) {
				t.Errorf("%v: hint is %q, want %q", err, got, want)
			}
		}
	}
	if got := hintFor(&fs.PathError{Op: "fork/exec", Path: "x", Err: fs.ErrNotExist}); got != "" {
		t.Errorf("a program that is not there: hint is %q", got)
	}
}

// A file that may not be read is an input; for one that may not be written, another folder must be chosen.
func TestPermissionHints(t *testing.T) {
	there := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ op, path, want string }{
		{"open", there, "this user may not read it"},
		{"open", filepath.Dir(there), "the folder exists, but this user may not read it"},
		{"lstat", there, "this user may not enter a folder"},
		{"open", there + ".new", "--out"},
		{"mkdir", there, "--out"},
	} {
		err := fmt.Errorf("a: %w", &fs.PathError{Op: c.op, Path: c.path, Err: fs.ErrPermission})
		if got := hintFor(err); !strings.Contains(got, c.want) {
			t.Errorf("%v: hint is %q", err, got)
		}
	}
	// An error that knows no advice does not hide that for the error of the system behind it.
	for says, err := range map[string]error{"the disk is full": syscall.ENOSPC, "that you can write to": syscall.EROFS} {
		if got := hintFor(&storage.Error{Op: "write", URL: "work/claims/000003.1", Err: err}); !strings.Contains(got, says) {
			t.Errorf("%v: hint is %q", err, got)
		}
	}
}
