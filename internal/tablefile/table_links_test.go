package tablefile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/storage"
)

// linkedFolder makes files and links, by what these lead to, in a folder "t" of the one that is returned. Names that begin with
// ../ lie beside it.
func linkedFolder(t *testing.T, files []string, links map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "t")
	add := func(name string, do func(path string) error) {
		path := filepath.Join(folder, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = do(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(files, "kept") {
		add(name, func(path string) error { return os.WriteFile(path, []byte("id\n1\n"), 0o666) })
	}
	for name, to := range links {
		add(name, func(path string) error { return os.Symlink(to, path) })
	}
	return dir
}

// A folder behind a link is read as one that is there, once, and circles end.
func TestLinkedFolders(t *testing.T) {
	for what, c := range map[string]struct {
		files     []string
		links     map[string]string
		in, paths string
		want      string // the files, or what the error says
	}{
		"the folder is a link":         {[]string{"../real/a/x.csv"}, map[string]string{"../l": "real"}, "../l", "{s}/x.csv", "a/x.csv"},
		"without a pattern":            {[]string{"../real/a.csv"}, map[string]string{"../l": "real"}, "../l", "", "a.csv"},
		"a link to a link":             {[]string{"../real/a.csv"}, map[string]string{"../l": "m", "../m": "real"}, "../l", "", "a.csv"},
		"a folder in it":               {[]string{"../real/a.csv", "b/a.csv"}, map[string]string{"a": "../real"}, "", "{s}/*.csv", "a/a.csv b/a.csv"},
		"a folder in that":             {[]string{"../real/a.csv", "../more/b.csv"}, map[string]string{"a": "../real", "../real/m": "../more"}, "", "", "a/a.csv a/m/b.csv"},
		"partitions":                   {[]string{"../real/a.csv", "day=2/b.csv"}, map[string]string{"day=1": "../real"}, "", "day={day}/*.csv", "day=1/a.csv day=2/b.csv"},
		"a file":                       {[]string{"../real.csv"}, map[string]string{"a.csv": "../real.csv"}, "", "", "a.csv"},
		"a file in a hidden folder":    {[]string{"..1/a.csv"}, map[string]string{"..data": "..1", "a.csv": "..data/a.csv"}, "", "", "a.csv"},
		"a hidden folder":              {[]string{".3/a.csv"}, map[string]string{"new": ".3"}, "", "", "new/a.csv"},
		"the newest":                   {[]string{"1/a.csv", "2/a.csv"}, map[string]string{"latest": "2", "0": "1"}, "", "", "1/a.csv 2/a.csv"},
		"hidden links":                 {[]string{"../real/a.csv", "b.csv"}, map[string]string{".a": "../real", "_a": "../real"}, "", "", "b.csv"},
		"a circle":                     {[]string{"a/x.csv"}, map[string]string{"a/b": "..", "a/c": ".", "a/d": "../a"}, "", "", "a/x.csv"},
		"a circle through two":         {[]string{"../p/x.csv", "../q/y.csv"}, map[string]string{"a": "../p", "../p/q": "../q", "../q/p": "../p"}, "", "", "a/q/y.csv a/x.csv"},
		"a link to nothing":            {[]string{"a.csv"}, map[string]string{"b": "none"}, "", "", "a.csv"},
		"a link to itself":             {[]string{"a.csv"}, map[string]string{"b": "b"}, "", "", "a.csv"},
		"a folder like a file":         {[]string{"../real/a.parquet"}, map[string]string{"b.parquet": "../real"}, "", "", "b.parquet/a.parquet"},
		"two links to one folder":      {[]string{"../real/a.csv"}, map[string]string{"a": "../real", "b": "../real"}, "", "", "are one file, by links to its folder"},
		"two, of which one is chosen":  {[]string{"../real/a.csv"}, map[string]string{"a": "../real", "b": "../real"}, "", "{s:a}/*.csv", "a/a.csv"},
		"a table of Delta Lake":        {[]string{"../d/day=1/a.parquet", "../d/_delta_log/0.json"}, map[string]string{"../l": "d/day=1"}, "../l", "", "Delta Lake"},
		"a table of Delta Lake inside": {[]string{"../d/a.parquet", "../d/_delta_log/0.json"}, map[string]string{"l": "../d"}, "", "", "Delta Lake"},
	} {
		dir := linkedFolder(t, c.files, c.links)
		folder := filepath.Join(dir, "t", c.in)
		files, err := Layout{Path: storage.File(folder), Paths: c.paths}.Files(t.Context())
		var names []string
		for _, file := range files {
			name, _ := storage.File(folder).Rel(file)
			names = append(names, name)
		}
		if got := strings.Join(names, " "); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, expected %q", what, got, err, c.want)
		}
	}
}

// What a name stands for comes from the path with the link.
func TestLinkedPartition(t *testing.T) {
	dir := linkedFolder(t, []string{"../real/a.csv"}, map[string]string{"day=1": "../real"})
	got := columns(t, Layout{Path: storage.File(filepath.Join(dir, "t")), Paths: "day={day}/*.csv"}, "id", "day")
	if !slices.Equal(got["day"], []string{"1"}) {
		t.Errorf("%v", got)
	}
}
