package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A list has as many numbers in every row, and at least one: else the numbers of another column would take its place.
func TestFeatureListsHaveOneLength(t *testing.T) {
	file := filepath.Join(t.TempDir(), "features.csv")
	for text, want := range map[string]string{
		"id,x,y\na,\"[1,2]\",\"[3]\"\nb,\"[1]\",\"[2,3]\"\n": "row 3: column x: has 1 numbers, the first row has 2",
		"id,x,y\na,1,[]\n": "row 2: column y: is an empty list",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		f := &fileFeatures{rows: map[string][]float32{}}
		if err := f.read(t.Context(), file, &fileFeaturesSettings{ID: "id"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
