package figure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/storage"
)

// Files have the names of their figures, and their notes.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	f := Figure{Name: "f", Title: "t", Note: "of 7 rows", Body: &Plot{}}
	if err := Write(t.Context(), storage.File(dir), nil, []Figure{f}); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, dir+"/f.svg")
	if !strings.Contains(text, "of 7 rows") || strings.Contains(text, "var(") || strings.Contains(string(f.Wide()), "of 7 rows") {
		t.Error(text)
	}
}

// A figure of an earlier run goes when the new ones are there. Figures of others stay, and files that are not figures of ours.
func TestWriteRemovesOldFigures(t *testing.T) {
	dir := t.TempDir()
	figures := func(names ...string) (out []Figure) {
		for _, n := range names {
			out = append(out, Figure{Name: n, Title: "t", Body: &Plot{}})
		}
		return out
	}
	own := []string{"loss.svg", "loss_*.svg", "map_*.svg"}
	if err := Write(t.Context(), storage.File(dir), nil, figures("loss", "loss_a", "map_b", "drift")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"loss_mine.svg": "<?xml version='1.0'?><svg><title>x</title></svg>", "loss_empty.svg": "", "loss.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "map_folder.svg"), 0o700); err != nil {
		t.Fatal(err)
	}
	remain := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	others := []string{"drift.svg", "loss.txt", "loss_empty.svg", "loss_mine.svg", "map_folder.svg"}
	// A figure that cannot be written leaves all that is there.
	before := remain()
	if err := Write(t.Context(), storage.File(dir), own, figures("map_folder")); err == nil || !slices.Equal(remain(), before) {
		t.Errorf("error %v; %v remain", err, remain())
	}
	if err := Write(t.Context(), storage.File(dir), own, figures("map_b")); err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(slices.Values(append(others, "map_b.svg"))); !slices.Equal(remain(), want) {
		t.Errorf("%v remain, want %v", remain(), want)
	}
	if err := Write(t.Context(), storage.File(dir), own, nil); err != nil || !slices.Equal(remain(), others) {
		t.Errorf("error %v; %v remain, want %v", err, remain(), others)
	}
	if err := Write(t.Context(), storage.File(filepath.Join(dir, "none")), own, nil); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
