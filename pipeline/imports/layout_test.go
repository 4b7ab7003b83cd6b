package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// layoutFiles are answers of two models in a file each, and features in files of two sets, whose rows have no id.
func layoutFiles(t *testing.T) (dir string) {
	dir = t.TempDir()
	files := map[string]*strings.Builder{}
	add := func(name, header, row string, args ...any) {
		if files[name] == nil {
			files[name] = &strings.Builder{}
			fmt.Fprintln(files[name], header)
		}
		fmt.Fprintf(files[name], row+"\n", args...)
	}
	for _, set := range []string{"maths", "law"} {
		for n := range 40 {
			add("small/answers.csv", "id,right", "%s-u%d-%d,%d", set, n/4, n, n%2)
			add("features/"+set+"/part.csv", "user,number,words", "u%d,%d,%d", n/4, n, n*n)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A table of features can be a folder with a pattern of its files, ids are made of other columns, a group is cut out of
// an id, a constant names the only expert, and the id of features is called as that of the outcomes.
func TestLayoutsOfAllTables(t *testing.T) {
	dir := layoutFiles(t)
	run := func(outcomes, features string) (*costs.Tensor, error) {
		t.Helper()
		config, out := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "t.parquet")
		text := fmt.Sprintf("outcomes: {file: small/answers.csv, columns: {id: id, expert: expert, correct: right, group: user}%s}\nfeatures: [{file: features%s}]\nsplit: {seed: 3}\n", outcomes, features)
		if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), Options{Config: storage.File(config), Out: storage.File(out)}, nil); err != nil {
			return nil, err
		}
		return costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	}
	cut := `, cut: {id: '(?<user>.+)-\d+'}, combine: {expert: small}`
	got, err := run(cut, `, paths: "{set}/*.csv", combine: {id: "{set}-{user}-{number}"}, columns: [words], categorical: [set]`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != 80 || got.Dim != 3 || got.Actions.Name(0) != "small/none" || got.IDs[79] != "law-u9-39" || got.Groups[79] != "law-u9" {
		t.Errorf("%v, %d features, %v, %v", got.Actions, got.Dim, got.IDs, got.Groups)
	}
	if last := got.Features[79*3:]; last[0] != 39*39 || last[1] != 1 || last[2] != 0 {
		t.Errorf("features %v", last)
	}
	for features, want := range map[string]string{
		`, paths: "{set}/*.csv", columns: [words]`:                            "column id: is missing; the table has user, number, words",
		`, cut: {user: "u"}, columns: [words]`:                                `features[0].cut.user: "u" has no group with a name`,
		`, paths: "{set", columns: [words]`:                                   "features[0].paths: ",
		`, combine: {id: "{"}, columns: [words]`:                              "features[0].combine.id: ",
		`/law/part.csv}, {combine: {id: "{user}"}, columns: [words]`:          "features[1] has no file, so it is the outcome table",
		`, paths: "{set}/*.csv", combine: {id: "{set}"}, columns: [words]`:    "80 of 80 instances are without features",
		`, paths: "{set}/*.csv", combine: {words: "{set}"}, columns: [words]`: "but the table has a column of this name",
	} {
		if _, err := run(cut, features); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", features, err, want)
		}
	}
}
