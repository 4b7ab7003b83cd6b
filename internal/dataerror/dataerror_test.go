package dataerror

import (
	"errors"
	"fmt"
	"testing"

	"pipe/internal/outside"
)

func TestErrorSaysWhere(t *testing.T) {
	cause := errors.New("no number")
	for want, e := range map[string]*Error{
		`"a.csv": line 7: column loss[3]: is bad: no number`: {File: "a.csv", Line: 7, Column: "loss[3]", Msg: "is bad", Err: cause},
		`row 2: no number`: {Row: 2, Err: cause},
		`"a b": is empty`:  {File: "a b", Msg: "is empty"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if e.Err != nil && !errors.Is(e, cause) {
			t.Errorf("%v hides its cause", e)
		}
	}
}

// A file name is added to an error once, and never to a value that another caller may hold.
func TestGuardNamesTheFile(t *testing.T) {
	nameless := &Error{Row: 3, Msg: "is bad"}
	err := Guard("outer", func() error { return fmt.Errorf("read: %w", Guard("inner", func() error { return nameless })) })
	var data *Error
	if !errors.As(err, &data) || data.File != "inner" || data.Row != 3 || nameless.File != "" {
		t.Errorf("%v, and %v was passed", err, nameless)
	}
	medium := errors.New("the disk is gone")
	if err := Guard("f", func() error { return medium }); err != medium {
		t.Errorf("got %v, want the error of the medium as it is", err)
	}
}

func TestGuardCatchesPanics(t *testing.T) {
	err := Guard("f", func() error { panic("index out of range") })
	var data *Error
	var caught *outside.PanicError
	if !errors.As(err, &data) || data.File != "f" || !errors.As(err, &caught) {
		t.Errorf("got %v", err)
	}
}
