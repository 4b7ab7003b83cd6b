package exitcode

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"pipe/costs"
	"pipe/experts/chat"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// The code is that of the innermost meaning: what ends a build counts more than the row at which it ended.
func TestOf(t *testing.T) {
	row := func(err error) error { return &costs.DataError{File: "rows.csv", Line: 7, Err: err} }
	for _, c := range []struct {
		err   error
		code  int
		known bool
	}{
		{row(errors.New("no number")), BadData, true},
		{fmt.Errorf("shard 3: %w", row(errors.New("no number"))), BadData, true},
		{row(&chat.BudgetError{}), Failure, true},
		{row(syscall.ENOSPC), Failure, true},
		{fmt.Errorf("open: %w", fs.ErrNotExist), BadData, true},
		{&ort.MissingLibraryError{}, NoRuntime, true},
		{&stage.OptionError{}, Usage, true},
		{errors.New("something else"), Failure, false},
	} {
		if code, known := Of(c.err); code != c.code || known != c.known {
			t.Errorf("%T: code %d, known %v; want %d, %v", c.err, code, known, c.code, c.known)
		}
	}
}
