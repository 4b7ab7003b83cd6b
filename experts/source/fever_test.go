package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/classlist"
	"pipe/internal/fuzztest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// instancesIn is what a build whose paths start in a folder gives to its source.
func instancesIn(dir string) *part.Setup {
	return (&part.Build{Dir: storage.File(dir), Inputs: make(part.Inputs)}).Setup("instances")
}

// claimsOf makes the source of a text in FEVER's format, with settings beside the file.
func claimsOf(t testing.TB, text string, settings map[string]any) (part.Source, error) {
	t.Helper()
	dir := t.TempDir()
	parttest.Write(t, filepath.Join(dir, "claims.jsonl"), text)
	all := map[string]any{"file": "claims.jsonl"}
	maps.Copy(all, settings)
	return newFever(t.Context(), instancesIn(dir), all)
}

func TestClaims(t *testing.T) {
	source, err := claimsOf(t, `{"id": "a", "label": "NOT_ENOUGH_INFO", "claim": "x y", "evidence": [[[1, null, null, null]]]}
{"id": 7, "label": "NOT ENOUGH INFO", "claim": "z"}
{"id": 8, "label": "SUPPORTS", "claim": "u", "evidence": [[[1, 2, "Q_-LRB-r-RRB-", 0], [1, 2, "P", 3]], [[1, 2, "P", 1]]]}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := source.Load(t.Context(), []int{2, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if in := list[0]; in.ID != "8" || in.Text != "u" || !slices.Equal(in.Gold, []string{"P", "Q_-LRB-r-RRB-"}) || in.Line != 3 || in.Row != 2 {
		t.Errorf("got %+v", in)
	}
	if in := list[1]; in.ID != "a" || in.Label != "NOT ENOUGH INFO" || len(in.Gold) > 0 {
		t.Errorf("got %+v", in)
	}
}

func TestBadClaims(t *testing.T) {
	good := `{"id": 1, "label": "SUPPORTS", "claim": "x", "evidence": [[[1, 2, "P", 0]]]}` + "\n"
	for text, want := range map[string]string{
		good + `{"id": 1, "label": "REFUTES", "claim": "y"}`:  `row 2: column id: "1" is a duplicate of row 1`,
		good + `{"label": "REFUTES", "claim": "y"}`:           "row 2: column id: is missing",
		`{"id": 2.5, "label": "REFUTES", "claim": "y"}`:       "row 1: column id: 2.5 is neither",
		`{"id": 2, "label": "Refutes", "claim": "y"}`:         `row 1: column label: unknown label "Refutes"`,
		`{"id": 2, "claim": "y"}`:                             "row 1: column label: is missing",
		`{"id": 2, "label": "REFUTES", "claim": "  "}`:        "row 1: column claim: is missing or empty",
		good + "\n" + `{"id": 2, "label": "REFUTES", "claim"`: "row 3: is not a claim",
		"[1]": "row 1: is not a claim: a JSON object is expected",
		"\n":  "has no claims",
		`{"id": 2, "label": "REFUTES", "claim": "y", "evidence": [[[1, 2, "P"]]]}`:  "row 1: column evidence: a sentence has 3 parts",
		`{"id": 2, "label": "REFUTES", "claim": "y", "evidence": [[[1, 2, 7, 0]]]}`: "row 1: column evidence: page 7",
		`{"id": 2, "label": "REFUTES", "claim": "y", "evidence": 5}`:                "row 1: column evidence: is not a list",
		"{\"id\": 2, \"label\": \"REFUTES\", \"claim\": \"\xff\"}":                  "row 1: is not UTF-8",
	} {
		if _, err := claimsOf(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A sample has the labels in their shares, and depends on the seed.
func TestClaimsAreDrawn(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `{"id": %d, "label": %q, "claim": "fact %d"}`+"\n", i, []string{"SUPPORTS", "REFUTES"}[i%2], i)
	}
	draw := func(seed int) (ids []string) {
		source, err := claimsOf(t, lines.String(), map[string]any{"rows": 30, "seed": seed})
		if err != nil {
			t.Fatal(err)
		}
		labels := make(map[string]int)
		for _, e := range source.Entries() {
			ids = append(ids, e.ID)
			labels[e.Label]++
		}
		if len(ids) != 30 || labels["SUPPORTS"] != 15 {
			t.Errorf("drawn %d: %v", len(ids), labels)
		}
		return ids
	}
	if a, b := draw(1), draw(1); !slices.Equal(a, b) || slices.Equal(a, draw(2)) {
		t.Error("the draw does not depend on the seed alone")
	}
	var bad *costs.DataError
	if _, err := claimsOf(t, lines.String(), map[string]any{"rows": 101}); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
}

// TestClaimGroups come from a key of every line.
func TestClaimGroups(t *testing.T) {
	lines := []string{
		`{"id": 1, "claim": "a b", "label": "SUPPORTS", "evidence": [], "page": "Lake"}`,
		`{"id": 2, "claim": "c d", "label": "REFUTES", "evidence": [], "page": 7}`,
		`{"id": 3, "claim": "e f", "label": "REFUTES", "evidence": [], "page": "Lake"}`,
	}
	open := func(text string) (part.Source, error) { return claimsOf(t, text, map[string]any{"group": "page"}) }
	src, err := open(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"Lake", "7", "Lake"} {
		if got := src.Entries()[n].Group; got != want {
			t.Errorf("claim %d is of group %q, want %q", n, got, want)
		}
	}
	_, err = open(lines[0] + "\n" + strings.Replace(lines[1], `"page": 7`, `"page": null`, 1))
	if err == nil || !strings.Contains(err.Error(), `claims.jsonl": row 2: column page: is missing`) {
		t.Errorf("got %v", err)
	}
}

// TestClaimsAreBounded: a file of claims that memory does not hold is refused with the row, and with advice.
func TestClaimsAreBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `{"id":%d,"label":"SUPPORTS","claim":"c","evidence":[]}`+"\n", i)
	}
	dir := t.TempDir()
	parttest.Write(t, filepath.Join(dir, "claims.jsonl"), lines.String())
	s := instancesIn(dir)
	s.Held = textfile.NewMemoryBudget(1000)
	_, err := newFever(t.Context(), s, map[string]any{"file": "claims.jsonl"})
	parttest.Bounded(t, err)
}

// Claims are read more than once, so a pipe of them is refused; no writer is waited for.
func TestPipeOfClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *costs.DataError
	if err := (&fever{file: storage.File(path)}).read(t.Context()); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("%v", err)
	}
}

// What is wrong with a long value is said in few words.
func TestLongClaims(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, fields := range []map[string]any{
		{"id": []string{long}},
		{"id": 1, "claim": "c", "label": long},
		{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": []any{[]any{[]any{1, 1, []string{long}, 1}}}},
	} {
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		err = (&fever{file: storage.File("f")}).add(line, 1, map[string]int{})
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// FuzzFever: a file in FEVER's format is an error about the file, or claims with distinct ids, a label, and pages that are
// sorted; written again they are the same.
func FuzzFever(f *testing.F) {
	for _, text := range []string{
		`{"id": 75397, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "A worked with B.", "evidence": [[[92206, 104971, "A", 7], [92206, 104971, "B", 0]]]}`,
		`{"id": "x", "label": "NOT ENOUGH INFO", "claim": "C", "evidence": [[[1, null, null, null]]], "user": "u"}` + "\n\n" + `{"id": 1, "label": "REFUTES", "claim": "D", "evidence": []}`,
		`{"id": 1.5, "label": "REFUTES", "claim": "D"}`, `{"id": 1, "label": "x", "claim": "D"}`, "[1]", "{", `{"id": 1, "label": "REFUTES", "claim": "D", "evidence": [[[1]]]}`,
	} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "user")
	}
	file := fuzztest.NewFile(f, "claims.jsonl")
	f.Fuzz(func(t *testing.T, b []byte, group string) {
		read := func(b []byte) (*fever, error) {
			x := &fever{file: storage.File(file.Write(t, b)), group: group}
			return x, x.read(t.Context())
		}
		x, err := read(b)
		if err != nil {
			file.Blames(t, err)
			return
		}
		var rows []map[string]any
		first := map[string]bool{}
		for i, e := range x.entries {
			c := &x.claims[i]
			c.line = 0
			label, _ := classlist.FeverLabel(e.Label)
			if e.ID == "" || first[e.ID] || label != e.Label || strings.TrimSpace(c.text) == "" || (group == "") != (e.Group == "") || !slices.IsSorted(c.gold) {
				t.Fatalf("%+v: %+v", e, c)
			}
			first[e.ID] = true
			evidence := [][][]any{}
			for _, set := range c.sets {
				var list [][]any
				for _, page := range set {
					list = append(list, []any{1, 2, page, 0})
				}
				evidence = append(evidence, list)
			}
			row := map[string]any{"id": e.ID, "label": e.Label, "claim": c.text, "evidence": evidence}
			switch group {
			case "":
			case "id", "label", "claim", "evidence":
				return // the key of something else
			default:
				row[group] = e.Group
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			return
		}
		file.WriteLines(t, rows)
		again := &fever{file: storage.File(string(file)), group: group}
		err = again.read(t.Context())
		for i := range again.claims {
			again.claims[i].line = 0
		}
		fuzztest.Same(t, again.claims, x.claims, err)
		fuzztest.Same(t, again.entries, x.entries, nil)
	})
}
