package tablefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

func tableFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of JSON lines that is one list is read as one, and values over many lines are an error that says what to do.
func TestPrettyJSON(t *testing.T) {
	for _, text := range []string{"[\n  {\n    \"id\": \"a\", \"v\": 1\n  },\n  {\"id\": \"b\", \"v\": 2}\n]\n", "\ufeff \n\t[{\"id\":\"a\",\"v\":1},{\"id\":\"b\",\"v\":2}]", "{\"id\":\"a\",\"v\":1}\n{\"id\":\"b\",\"v\":2}"} {
		for _, name := range []string{"t.jsonl", "t.ndjson"} {
			for _, all := range []bool{false, true} {
				got := columns(t, Layout{Path: storage.File(tableFile(t, name, text)), All: all}, "id", "v")
				if !slices.Equal(got["id"], []string{`"a"`, `"b"`}) || !slices.Equal(got["v"], []string{"1", "2"}) {
					t.Errorf("%s %q: %v", name, text, got)
				}
			}
		}
	}
	for text, says := range map[string]string{
		"{\n  \"id\": \"a\"\n}\n":             "row 1: the line ends within a JSON value; write one object per line, as jq -c . does, or jq -c '.[]' for a list",
		"{\"id\": \"a\"}\n{\n\"id\": \"b\"}":  "row 2: the line ends within a JSON value; write one object per line",
		"{\"id\": \"a\"}\n{\"id\": \"b\"} x":  "row 2: invalid character 'x'",
		"[\"a\", \"b\"]":                      "is not a JSON object",
		"[{\"id\": \"a\"}]\n[{\"id\": 2}]\n":  "goes on after the end of its JSON value",
		"7\n":                                 "a JSON object is expected, not a JSON number",
		"{}\n{}":                              "column id: is missing; the table has none",
		"{\"other\": 1, \"identity\": 2}\n{}": "column id: is missing; the table has other, identity",
	} {
		if err := firstError(tableFile(t, "t.jsonl", text), "id"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, expected %q", text, err, says)
		}
	}
}

// firstError returns the first error of reading columns.
func firstError(path string, columns ...string) error {
	table, err := Open(context.Background(), storage.File(path))
	if err != nil {
		return err
	}
	defer table.Close()
	if err := table.Choose(columns); err != nil {
		return err
	}
	for err == nil {
		_, err = table.Read()
	}
	return err
}

// Half of a surrogate pair is refused by row and column where it is used, and nowhere else.
func TestLoneSurrogates(t *testing.T) {
	const rows = `{"id": "a", "note": "x", "in": {"text": "y", "more": 1}}` + "\n" + `{"id": "\u0061\ud83d\ude00", "note": "\ud83d", "in": {"text": "\ude00", "more": 2}}` + "\n"
	list := "[" + strings.Replace(strings.TrimSpace(rows), "\n", ",", 1) + "]"
	for name, text := range map[string]string{"t.jsonl": rows, "t.json": list} {
		path := tableFile(t, name, text)
		got := columns(t, Layout{Path: storage.File(path)}, "id", "in.more")
		if !slices.Equal(got["id"], []string{`"a"`, `"a😀"`}) || !slices.Equal(got["in.more"], []string{"1", "2"}) {
			t.Errorf("%s: %v", name, got)
		}
		for column, half := range map[string]string{"note": `\ud83d`, "in.text": `\ude00`, "in": `\ude00`} {
			err := firstError(path, "id", column)
			var data *dataerror.Error
			if !errors.As(err, &data) || data.Row != 2 || data.Column != column || !strings.Contains(err.Error(), half+" is half of a surrogate pair") {
				t.Errorf("%s, %s: %v", name, column, err)
			}
		}
	}
	outer := tableFile(t, "t.json", `{"note": "\ud83d", "name": "n", "rows": [{"id": "a"}]}`)
	got := columns(t, Layout{Path: storage.File(outer), Rows: "rows"}, "name", "rows.id")
	if !slices.Equal(got["name"], []string{`"n"`}) {
		t.Errorf("%v", got)
	}
	table, err := Layout{Path: storage.File(outer), Rows: "rows"}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if err := table.Choose([]string{"note"}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Read(); err == nil || !strings.Contains(err.Error(), "column note: \\ud83d is half") {
		t.Error(err)
	}
	// What could be read in two ways is refused wherever it is.
	for text, says := range map[string]string{`{"id": "a", "\ud83d": 1}`: "is half of a surrogate pair", `{"id": "a", "b": {"c": 1, "c": 2}}`: "duplicate key"} {
		if err := firstError(tableFile(t, "t.jsonl", text), "id"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
