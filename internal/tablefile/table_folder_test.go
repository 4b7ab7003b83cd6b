package tablefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// folderOf writes files into a new folder, on disk and in a bucket: of Parquet by their ending, else with the text.
func folderOf(t *testing.T, files map[string]string) (folders []storage.Location) {
	t.Helper()
	type row struct {
		ID string `parquet:"id"`
	}
	dir := t.TempDir()
	_, bucket := storagetest.New(t)
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if strings.HasSuffix(name, ".parquet") {
			err = errors.Join(err, parquet.WriteFile(path, []row{{name}}))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o666))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	remote := storagetest.At(t, bucket+"/t")
	if err := remote.Put(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return []storage.Location{storage.File(dir), remote}
}

// A folder that a table format manages has files that are not its rows, so it is refused by the format's name.
func TestManagedFolders(t *testing.T) {
	const delta, iceberg, hudi = "a table of Delta Lake", "a table of Apache Iceberg", "a table of Apache Hudi"
	for _, c := range []struct {
		files     []string
		in, paths string
		want      string // of the error; "": it is read
	}{
		{[]string{"a.parquet", "b.parquet", "_delta_log/00000000000000000000.json"}, "", "", delta},
		{[]string{"day=1/a.parquet", "day=2/a.parquet", "_delta_log/00000000000000000000.json"}, "", "", delta},
		{[]string{"day=1/a.parquet", "day=2/a.parquet", "_delta_log/00000000000000000000.json"}, "", "day={day}/*.parquet", delta},
		{[]string{"day=1/h=2/a.parquet", "_delta_log/00000000000000000000.json"}, "day=1/h=2", "", delta},
		{[]string{"one/a.parquet", "one/_delta_log/00000000000000000000.json"}, "", "", delta},
		{[]string{"data/a.parquet", "metadata/v1.metadata.json"}, "", "", iceberg},
		{[]string{"data/a.parquet", "metadata/00000-1b.gz.metadata.json", "metadata/snap-1.avro"}, "data", "", iceberg},
		{[]string{"data/day=1/a.parquet", "metadata/v1.metadata.json"}, "data/day=1", "", iceberg},
		{[]string{"a.parquet", ".hoodie/hoodie.properties"}, "", "", hudi},
		{[]string{"2026/a.parquet", ".hoodie/hoodie.properties"}, "", "", hudi},

		{[]string{"a.parquet", "_delta_log"}, "", "", ""},
		{[]string{"a.parquet", "_SUCCESS", "_temporary/0/x.json", ".part.crc"}, "", "", ""},
		{[]string{"a.parquet", "metadata/notes.json"}, "", "", ""},
		{[]string{"one/a.parquet", "two/b.parquet", "_temporary/0/c.parquet", "two/.old/d.csv"}, "", "", ""},
		{[]string{"data/a.parquet", "metadata/notes.txt"}, "data", "", ""},
		{[]string{"one/a.parquet", "_delta_log/00000000000000000000.json"}, "one/a.parquet", "", ""}, // one file is what it is
	} {
		files := make(map[string]string)
		for _, name := range c.files {
			files[name] = "{}\n"
		}
		for _, folder := range folderOf(t, files) {
			table, err := Layout{Path: folder.Join(c.in), Paths: c.paths}.Open(t.Context())
			if err == nil {
				table.Close()
			}
			var data *dataerror.Error
			var hint interface{ Hint() string }
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%q in %s: %v", c.files, folder, err)
			case c.want != "" && (!errors.As(err, &data) || !errors.As(err, &hint) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%q in %s: error %v, expected %q", c.files, folder, err, c.want)
			}
		}
	}
}

// Hidden folders are left out in a bucket as on disk. A partition is not hidden.
func TestHiddenFolders(t *testing.T) {
	for _, folder := range folderOf(t, map[string]string{"one/a.parquet": "", "_temporary/0/c.parquet": "", "one/.b/d.parquet": "", "one/_e.parquet": "", "_y=1/f.parquet": ""}) {
		files, err := Layout{Path: folder}.Files(t.Context())
		if err != nil || len(files) != 2 || !strings.HasSuffix(files[0].String(), "_y=1/f.parquet") || !strings.HasSuffix(files[1].String(), "one/a.parquet") {
			t.Errorf("%s: %q, %v", folder, files, err)
		}
	}
}

// A name behind an equals sign is a partition: Hive's word for a null is one, and escapes are decoded. Other names of
// folders are taken as they are.
func TestPartitions(t *testing.T) {
	for _, folder := range folderOf(t, map[string]string{
		"topic=x%20y/a%20b/1.csv":                  "id\n1\n",
		"topic=50%25/b%/2.csv":                     "id\n2\n",
		"topic=__HIVE_DEFAULT_PARTITION__/a/3.csv": "id\n3\n",
		"topic=100%/a/4.csv":                       "id\n4\n",
		"topic=%FF/a/5.csv":                        "id\n5\n",
		"topic=a=b/a/6.csv":                        "id\n6\n",
	}) {
		got := columns(t, Layout{Path: folder, Paths: "topic={topic}/{other}/*.csv"}, "id", "topic", "other")
		var rows []string
		for i := range got["id"] {
			rows = append(rows, fmt.Sprint(got["id"][i], " ", got["topic"][i], " ", got["other"][i]))
		}
		slices.Sort(rows)
		want := []string{`1 "x y" "a%20b"`, `2 "50%" "b%"`, `3 null "a"`, `4 "100%" "a"`, `5 "%FF" "a"`, `6 "a=b" "a"`}
		if !slices.Equal(rows, want) {
			t.Errorf("%s: %q, expected %q", folder, rows, want)
		}
	}
}
