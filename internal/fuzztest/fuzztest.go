// Package fuzztest has what fuzz targets of file readers share: a file that is rewritten for every input, and two
// checks: errors name the file, and what is written is read back. It imports internal/dataerror, the type of those
// errors.
package fuzztest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipe/internal/dataerror"
)

// File is the path of a file that a fuzz target rewrites for every input.
type File string

// NewFile names a file in a temporary folder of the fuzz target.
func NewFile(f *testing.F, name string) File {
	return File(filepath.Join(f.TempDir(), name))
}

// TableFiles names a file for each text format of tables: CSV, and with lines JSON lines.
func TableFiles(f *testing.F) func(lines bool) File {
	csv, jsonl := NewFile(f, "t.csv"), NewFile(f, "t.jsonl")
	return func(lines bool) File {
		if lines {
			return jsonl
		}
		return csv
	}
}

// Name is the last part of the path.
func (f File) Name() string { return filepath.Base(string(f)) }

// Write writes the file and returns its path.
func (f File) Write(t *testing.T, b []byte) string {
	t.Helper()
	if err := os.WriteFile(string(f), b, 0o666); err != nil {
		t.Fatal(err)
	}
	return string(f)
}

// WriteLines writes rows as JSON lines and returns the path.
func (f File) WriteLines(t *testing.T, rows []map[string]any) string {
	t.Helper()
	var b bytes.Buffer
	for _, row := range rows {
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	return f.Write(t, b.Bytes())
}

// Blames checks that err is an error about data that names the file.
func (f File) Blames(t *testing.T, err error) {
	t.Helper()
	var bad *dataerror.Error
	if !errors.As(err, &bad) || bad.File != string(f) || !strings.Contains(err.Error(), string(f)) {
		t.Fatalf("%v is not an error about %s", err, f)
	}
}

// Same checks that what was written is read back without an error.
func Same(t *testing.T, got, want any, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("written and read, %+v is %+v (%v)", want, got, err)
	}
}
