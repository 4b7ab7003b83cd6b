package features

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// FuzzFeaturizeReport: the report of a stage gives an error that names its file, or can be displayed.
func FuzzFeaturizeReport(f *testing.F) {
	f.Add([]byte(`{"rows":3,"train":2,"validation":1,"positive":0.5,"groups":[{"name":"g","columns":2}]}`))
	f.Add([]byte(`{"load":{"joined":1}}`))
	file := filepath.Join(f.TempDir(), "report.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := readReport(t.Context(), storage.File(file))
		if err != nil {
			if !strings.Contains(err.Error(), file) {
				t.Fatal(err)
			}
			return
		}
		if err := errors.Join(r.WriteText(io.Discard), stage.Indented(r)(io.Discard)); err != nil {
			t.Fatal(err)
		}
	})
}
