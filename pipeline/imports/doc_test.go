package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"pipe/costs"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// TestFirstExampleOfTheImportPage runs the example as printed: both files are in the page.
func TestFirstExampleOfTheImportPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(realdata.Root(t), "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for kind, name := range map[string]string{"csv": "answers.csv", "yaml": "answers.yaml"} {
		block := regexp.MustCompile("(?s)```" + kind + "\n(.*?)```").FindSubmatch(page)
		if block == nil {
			t.Fatalf("no %s in the page", kind)
		}
		if err := os.WriteFile(filepath.Join(dir, name), block[1], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "answers.parquet")
	r, err := Run(t.Context(), Options{Config: storage.File(filepath.Join(dir, "answers.yaml")), Out: storage.File(out)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Kept != 16 || tensor.Dim != 3 || tensor.Actions.Len() != 2 || len(tensor.Rows(costs.Val)) == 0 {
		t.Errorf("%+v", r)
	}
}
