package outcome

import (
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
)

// An import says which of its features are not computed from raw rows, and nothing of columns of numbers or of the
// vectors of one encoder. The tensor tells the same.
func TestUnservedFeaturesAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	put(t, file, gradeTable(count(100)))
	for want, f := range map[string]FeatureTable{
		"": {Columns: []string{"x"}},
		"do not compute length of label from raw rows: send every feature as a number":     {Columns: []string{"x"}, Length: []string{"label"}},
		"do not compute categories of label from raw rows: send every feature as a number": {Categorical: []string{"label"}},
		"length of label, length of user, categories of user from raw rows: send":          {Length: []string{"label", "user"}, Categorical: []string{"user"}},
	} {
		c := gradeImport(file)
		f.ID, c.Features = "id", []FeatureTable{f}
		tensor, report, err := Import(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := Unserved(tensor); got != report.Unserved || !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%+v: %q and %q, want %q", f, report.Unserved, got, want)
		}
	}
	for names, want := range map[string]bool{
		`["vector of q[0]", "vector of q[1]"]`:                     false,
		`["vector of title, body[0]", "vector of title, body[1]"]`: false,
		`["vector of q[0]", "vector of r[0]"]`:                     true,
		`["words", "vector of q[0]"]`:                              true,
		`["vector of q[0]", "c=1"]`:                                true,
		`["a", "b"]`:                                               false,
	} {
		tensor := &costs.Tensor{Actions: &costs.Actions{}, Meta: map[string]string{costs.NamesKey: names}}
		if got := Unserved(tensor); (got != "") != want {
			t.Errorf("%s: %q", names, got)
		}
	}
	for name, want := range map[string]bool{
		"": false, "text minilm": false, "groups a, b": false, "columns": false, "columns + file": false, "a.csv + b.csv": false, "image vit": false,
		"text minilm + columns": true, "text minilm + image vit": true, "columns + groups a, b": true,
	} {
		tensor := &costs.Tensor{Actions: &costs.Actions{Features: costs.FeatureSource{Name: name}}}
		if got := Unserved(tensor); (got != "") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
