package parttest

import (
	"errors"
	"testing"

	"pipe/costs"
	"pipe/internal/textfile"
)

// Bounded checks the error of a table that exceeds the memory limit of a build: it names the file and the row, and has a
// hint.
func Bounded(t testing.TB, err error) {
	t.Helper()
	var fault *textfile.Fault
	var bad *costs.DataError
	if !errors.As(err, &bad) || !errors.As(err, &fault) || bad.File == "" || bad.Row < 2 || fault.Hint() == "" {
		t.Fatalf("error is %v", err)
	}
}
