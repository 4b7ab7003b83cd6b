// Package dataerrortest checks errors about input data, for tests.
package dataerrortest

import (
	"errors"
	"strings"
	"testing"

	"pipe/internal/dataerror"
)

// Check fails the test unless err is a *dataerror.Error about this place whose text contains msg. row is compared with
// the line where the error has one.
func Check(t *testing.T, err error, file string, row int, column, msg string) {
	t.Helper()
	var data *dataerror.Error
	if !errors.As(err, &data) {
		t.Fatalf("got %v, expected an error about data", err)
	}
	if data.File != file || max(data.Line, data.Row) != row || data.Column != column || !strings.Contains(err.Error(), msg) {
		t.Errorf("got %v; expected row %d, column %q, %q", err, row, column, msg)
	}
}
