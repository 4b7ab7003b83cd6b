package stage

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// FuzzStep: a record of a step counts as none, or has the same inputs and matches the files that it names.
func FuzzStep(f *testing.F) {
	s := Step{Folder: storage.File(f.TempDir()), Name: "train", Inputs: map[string]string{"costs": "sha256:00", "format": "1"}}
	file := filepath.Join(s.Folder.String(), "a")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		f.Fatal(err)
	}
	sum, err := costs.FileDigest(f.Context(), storage.File(file))
	if err != nil {
		f.Fatal(err)
	}
	whole, err := json.Marshal(stepRecord{stepFormat, s.Inputs, map[string]string{"a": sum}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"a"`), []byte(`"../a"`), 1))
	f.Add(bytes.Replace(whole, []byte(`{"a":"`+sum+`"}`), []byte(`{}`), 1))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, record []byte) {
		if err := os.WriteFile(s.record().String(), record, 0o666); err != nil {
			t.Fatal(err)
		}
		done, err := s.done(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		files, err := s.Files(t.Context())
		if done && (err != nil || !slices.Equal(files, []string{"a"})) {
			t.Fatalf("it left %q (%v)", files, err)
		}
		if err != nil && !strings.Contains(err.Error(), s.record().String()) {
			t.Fatal(err)
		}
	})
}
