package bm25

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
)

// TestPartsEqualTheWhole: an index that is merged of parts has the bytes of one that was built at once, and a part the
// same bytes whatever the work was divided into.
func TestPartsEqualTheWhole(t *testing.T) {
	for _, c := range []struct{ files, pages, parts int }{{1, 3, 5}, {3, 400, 4}, {2, 900, 1}, {5, 50, 2}} {
		folder := written(t, c.files, randomPages(rand.New(rand.NewPCG(uint64(c.pages), 1)), c.pages, 30))
		o := BuildOptions{Pages: storage.File(folder), Out: storage.File(filepath.Join(t.TempDir(), "whole")), Settings: DefaultSettings()}
		want, err := Build(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		cuts, err := CutPages(t.Context(), storage.File(folder), c.parts)
		if err != nil {
			t.Fatal(err)
		}
		var parts []PartFile
		for i, p := range cuts.Parts {
			file, info := builtPart(t, o, p, 1, 1<<30)
			again, _ := builtPart(t, o, p, 3, 1<<10)
			if !bytes.Equal(file, again) {
				t.Errorf("%+v: part %d has other bytes with other workers", c, i)
			}
			parts = append(parts, PartFile{bytes.NewReader(file), *info})
		}
		o.Out = storage.File(filepath.Join(t.TempDir(), "merged"))
		got, err := MergeParts(t.Context(), o, cuts.Source, parts)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != want.Digest || !bytes.Equal(content(t, got.File), content(t, want.File)) {
			t.Errorf("%+v: other bytes: %+v, want %+v", c, got, want)
		}
	}
}

func builtPart(t *testing.T, o BuildOptions, p Part, workers int, memory int64) ([]byte, *PartInfo) {
	t.Helper()
	o.Out, o.Workers, o.Memory = storage.File(filepath.Join(t.TempDir(), "part")), workers, memory
	info, err := BuildPart(t.Context(), o, p)
	if err != nil {
		t.Fatal(err)
	}
	return content(t, o.Out.String()), info
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPartsFindDuplicates: a page that two parts have is the error of one build, with both places.
func TestPartsFindDuplicates(t *testing.T) {
	folder := written(t, 2, []Page{{"a", "x y"}, {"b", "y"}, {"c", "z"}, {"a", "x"}})
	o := BuildOptions{Pages: storage.File(folder), Out: storage.File(filepath.Join(t.TempDir(), "whole")), Settings: DefaultSettings()}
	_, want := Build(t.Context(), o)
	cuts, err := CutPages(t.Context(), storage.File(folder), 3)
	if err != nil {
		t.Fatal(err)
	}
	var parts []PartFile
	for _, p := range cuts.Parts {
		file, info := builtPart(t, o, p, 1, 1<<30)
		parts = append(parts, PartFile{bytes.NewReader(file), *info})
	}
	_, err = MergeParts(t.Context(), o, cuts.Source, parts)
	if want == nil || err == nil || err.Error() != want.Error() || !strings.Contains(err.Error(), "duplicate page") {
		t.Errorf("got %v, want %v", err, want)
	}
}
