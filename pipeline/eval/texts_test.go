package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pipe/internal/storage"
	"pipe/pipeline/report"
)

// A text is cut between characters as readers see them, and never grows beyond the limits.
func TestShortened(t *testing.T) {
	family := "👨‍👩‍👧" // one character of five code points
	for text, want := range map[string]string{
		"":                                    "",
		"short":                               "short",
		strings.Repeat("x", mostCharacters):   strings.Repeat("x", mostCharacters),
		strings.Repeat("x", mostCharacters+1): strings.Repeat("x", mostCharacters) + "…",
		strings.Repeat("x", mostCharacters-1) + "e\u0301" + "y":        strings.Repeat("x", mostCharacters-1) + "e\u0301…",
		strings.Repeat("x", mostCharacters-1) + family + family:        strings.Repeat("x", mostCharacters-1) + family + "…",
		"a" + strings.Repeat("\u0301", mostBytes) /* one character */ : "…",
	} {
		if got := shortened(text); got != want {
			t.Errorf("%.40q: %.60q, want %.60q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 400).Draw(t, "times"))
		got := shortened(text)
		if !utf8.ValidString(got) || len(got) > mostBytes+len("…") || !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q is cut to %q", text, got)
		}
	})
}

// Texts are found by id in every kind of table, numbers included.
func TestTextsOfExamples(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.csv":   "text,id\none,1\none,1\n,2\nthree,3\n",
		"a.jsonl": `{"id": 1, "text": "one"}` + "\n" + `{"id": 2, "text": null}` + "\n" + `{"id": 3, "text": "three"}` + "\n",
	} {
		o := DefaultOptions()
		o.Texts = storage.File(filepath.Join(dir, name))
		if err := os.WriteFile(o.Texts.String(), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		r := &report.Report{Examples: []report.Examples{{Shown: []report.Example{{ID: "1"}, {ID: "2"}}}, {Shown: []report.Example{{ID: "1"}}}}}
		if err := o.texts(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if r.Examples[0].Shown[0].Text != "one" || r.Examples[1].Shown[0].Text != "one" || r.Examples[0].Shown[1].Text != "" {
			t.Errorf("%s: %+v", name, r.Examples)
		}
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1 of the 2 rows that are shown have no text") {
			t.Errorf("%s: %q", name, r.Notes)
		}
	}
}

// Another text of an id that is shown is said; of an id that is not shown it does not matter.
func TestSeveralTextsOfAnExample(t *testing.T) {
	o := DefaultOptions()
	o.Texts = storage.File(filepath.Join(t.TempDir(), "a.csv"))
	if err := os.WriteFile(o.Texts.String(), []byte("text,id\none,1\ntwo,2\ntwo,2\nx,3\ny,3\nother,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &report.Report{Examples: []report.Examples{{Shown: []report.Example{{ID: "1"}, {ID: "2"}}}}}
	if err := o.texts(t.Context(), r); err != nil || r.Examples[0].Shown[0].Text != "one" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "Of 1 of the rows") {
		t.Errorf("%+v, %v", r, err)
	}
}
