// Package lightgbmtest provides LightGBM to tests.
package lightgbmtest

import (
	"errors"
	"os"
	"testing"

	"pipe/models/lightgbm"
)

// Open returns the library. If it is absent, the test is skipped, or fails under CI=true. If it does not load, the test
// fails.
func Open(t testing.TB) *lightgbm.Library {
	t.Helper()
	l, err := lightgbm.Open("")
	var missing *lightgbm.MissingLibraryError
	switch {
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		t.Skip("needs LightGBM: ", err)
	case err != nil:
		t.Fatal(err)
	}
	return l
}

// Absent makes the search for the library fail until the test ends.
func Absent(t *testing.T) {
	t.Helper()
	t.Setenv(lightgbm.EnvLibrary, t.TempDir())
}
