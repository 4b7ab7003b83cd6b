package page_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pipe/tools/notebook/page"
)

func TestParse(t *testing.T) {
	got, err := page.Parse("# Title\n\nSave this as `a.yaml`:\n\n```yaml\nk: 1\n```\n\n```console\n$ one | two\nprinted\n...\n$ three\n```\n\n```\na picture\n```\n")
	want := []page.Part{
		{Text: "# Title\n\nSave this as `a.yaml`:"},
		{File: "a.yaml", Content: "k: 1\n"},
		{Commands: []page.Command{{Text: "one | two", Prints: []string{"printed", "..."}}, {Text: "three"}}},
		{Text: "```\na picture\n```"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"Look:\n\n```go\nx\n```\n", "```console\nprinted\n```\n"} {
		if _, err := page.Parse(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// TestNotebook: a cell has the whole of its part. TestRecipes of docs runs notebooks.
func TestNotebook(t *testing.T) {
	text, err := page.Notebook([]page.Part{{Text: "a\n\nb"}, {File: "f", Content: "<1>\n2\n"}, {Commands: []page.Command{{Text: "x", Prints: []string{"1", "2"}}, {Text: "y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var n struct {
		Cells []struct {
			Kind    string `json:"cell_type"`
			Source  []string
			Outputs []struct{ Text []string }
		}
	}
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range n.Cells {
		got = append(got, c.Kind+": "+strings.Join(c.Source, ""))
		for _, o := range c.Outputs {
			got = append(got, strings.Join(o.Text, ""))
		}
	}
	if want := []string{"markdown: a\n\nb", "code: %%writefile f\n<1>\n2", "code: %%bash -e\nx\ny", "1\n2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
