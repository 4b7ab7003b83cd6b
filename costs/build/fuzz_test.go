package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/builder/part"
)

// fuzzFile is a file that a fuzz target writes anew for every input.
type fuzzFile string

func newFuzzFile(f *testing.F, name string) fuzzFile {
	return fuzzFile(filepath.Join(f.TempDir(), name))
}

func (f fuzzFile) write(t *testing.T, b []byte) string {
	t.Helper()
	if err := os.WriteFile(string(f), b, 0o666); err != nil {
		t.Fatal(err)
	}
	return string(f)
}

// lines writes rows as JSON, a line each.
func (f fuzzFile) lines(t *testing.T, rows []map[string]any) string {
	t.Helper()
	var b bytes.Buffer
	for _, row := range rows {
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	return f.write(t, b.Bytes())
}

// blames wants an error about data that names the file, and its column where one of a row is meant.
func (f fuzzFile) blames(t *testing.T, err error) {
	t.Helper()
	var bad *costs.DataError
	if !errors.As(err, &bad) || bad.File != string(f) || !strings.Contains(err.Error(), string(f)) {
		t.Fatalf("%v is no error about %s", err, f)
	}
}

// sameAgain wants that what was written is read back.
func sameAgain(t *testing.T, got, want any, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("written and read, %+v is %+v (%v)", want, got, err)
	}
}

// fuzzSetup is what readers need of a build.
func fuzzSetup(labels ...string) *part.Setup {
	return (&part.Build{Labels: labels, Inputs: make(part.Inputs)}).Setup("part")
}
