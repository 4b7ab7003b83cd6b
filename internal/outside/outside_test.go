package outside

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// Panics become errors that keep their cause, errors and values pass.
func TestRead(t *testing.T) {
	if v, err := Read(func() (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if v, err := Read(func() (int, error) { return 7, io.EOF }); v != 7 || err != io.EOF {
		t.Errorf("%d, %v", v, err)
	}
	v, err := Read(func() (int, error) { return []int{7}[len(t.Name())], nil })
	var caught *PanicError
	var cause runtime.Error
	if v != 0 || !errors.As(err, &caught) || !errors.As(err, &cause) {
		t.Fatalf("%d, %v", v, err)
	}
	if !strings.Contains(err.Error(), "the content is damaged, its reader stopped: runtime error: index out of range") {
		t.Error(err)
	}
	if !strings.Contains(string(caught.Stack), "outside_test.go") {
		t.Errorf("%s", caught.Stack)
	}
	if err := Check(func() error { panic("no error") }); !errors.As(err, &caught) || errors.Unwrap(err) != nil {
		t.Error(err)
	}
}
