package costs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pipe/internal/storage"
)

func TestActionsAreExpertMajor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := testActions(rapid.IntRange(1, 9).Draw(t, "experts"), rapid.IntRange(1, 9).Draw(t, "advice"))
		i := 0
		for j := range a.Experts {
			for k := range a.Advice {
				if gotJ, gotK := a.Pair(i); a.Index(j, k) != i || gotJ != j || gotK != k {
					t.Fatalf("action %d is (%d, %d), expected (%d, %d)", i, gotJ, gotK, j, k)
				}
				lambda := 1.5
				if fee := a.Fees(lambda)[i]; fee != a.Experts[j].Fee+lambda*a.Advice[k].Fee {
					t.Fatalf("fee of %s is %v", a.Name(i), fee)
				}
				i++
			}
		}
		if i != a.Len() {
			t.Fatalf("%d actions, expected %d", a.Len(), i)
		}
	})
}

func TestActionsJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTensor(t).Actions
		want.Features = FeatureSource{Name: rapid.String().Draw(t, "name"), Dim: rapid.IntRange(0, 9).Draw(t, "dim")}
		want.Digests = map[string]string{"<a>": "sha256:1", "b": "2"}
		got, err := ParseActions(want.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" && isUTF8(want.Features.Name) {
			t.Fatal(d)
		}
		if string(got.JSON()) != string(want.JSON()) {
			t.Fatal("bytes changed")
		}
	})
}

func isUTF8(s string) bool { return strings.ToValidUTF8(s, "") == s }

func ExampleActions_JSON() {
	a := &Actions{
		Experts:     []Expert{{"small", 0}, {"large", 0.05}},
		Advice:      []Advice{{"none", 0}, {"search", 0.01}},
		Unavailable: []Pair{{0, 1}},
		Features:    FeatureSource{"all-MiniLM-L6-v2", 384},
	}
	fmt.Println(string(a.JSON()))
	// Output: {"format":1,"experts":[{"name":"small","fee":0},{"name":"large","fee":0.05}],"advice":[{"name":"none","fee":0},{"name":"search","fee":0.01}],"unavailable":[{"expert":"small","advice":"search"}],"features":{"name":"all-MiniLM-L6-v2","dim":384}}
}

func TestParseActionsRefuses(t *testing.T) {
	for _, c := range []struct{ name, json, msg string }{
		{"no JSON", `experts: a`, "invalid character"},
		{"no format", `{"experts":[]}`, `no "format"`},
		{"newer", `{"format":2,"novelty":1}`, "newer than 1"},
		{"a list", `[]`, "object is expected, not a JSON array"},
		{"experts as text", `{"format":1,"experts":"a"}`, `field "experts" cannot be a JSON string`},
		{"fee as text", `{"format":1,"experts":[{"name":"a","fee":"1"}],"advice":[{"name":"none"}]}`, `field "experts.fee" cannot be a JSON string`},
		{"fee too large", `{"format":1,"experts":[{"name":"a","fee":1e999}],"advice":[{"name":"none"}]}`, `field "experts.fee" cannot be a JSON number 1e999`},
		{"format 0", `{"format":0}`, "does not exist"},
		{"a fee twice", `{"format":1,"experts":[{"name":"a","fee":0.05,"Fee":0.5}],"advice":[{"name":"none"}]}`, `key "Fee" must be spelt "fee"`},
		{"a fee in another case", `{"format":1,"experts":[{"name":"a","FEE":0.5}],"advice":[{"name":"none"}]}`, `key "FEE" must be spelt "fee"`},
		{"format in another case", `{"Format":1,"experts":[{"name":"a","fee":0.5}],"advice":[{"name":"none"}]}`, `key "Format" must be spelt "format"`},
		{"unknown key", `{"format":1,"expert":[]}`, "unknown field"},
		{"trailing", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"none"}]} {}`, "after top-level"},
		{"no expert", `{"format":1,"experts":[],"advice":[{"name":"none"}]}`, "no expert"},
		{"no advice", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[]}`, "no advice level"},
		{"no fee", `{"format":1,"experts":[{"name":"a"}],"advice":[{"name":"none"}]}`, `expert "a" has no fee`},
		{"null fee", `{"format":1,"experts":[{"name":"a","fee":null}],"advice":[{"name":"none"}]}`, `expert "a" has no fee`},
		{"no advice fee", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"none"},{"name":"b"}]}`, `advice "b" has no fee`},
		{"negative fee", `{"format":1,"experts":[{"name":"a","fee":-1}],"advice":[{"name":"none"}]}`, "fee -1"},
		{"advice 0 with a fee", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"none","fee":0.1}]}`, "is free"},
		{"same expert", `{"format":1,"experts":[{"name":"a","fee":0},{"name":"a","fee":0}],"advice":[{"name":"none"}]}`, "duplicate"},
		{"same advice", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"n"},{"name":"n","fee":0}]}`, "duplicate"},
		{"no name", `{"format":1,"experts":[{"fee":0}],"advice":[{"name":"none"}]}`, "has no name"},
		{"unknown pair", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"n"}],"unavailable":[{"expert":"a","advice":"x"}]}`, "names no known"},
		{"all unavailable", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"n"}],"unavailable":[{"expert":"a","advice":"n"}]}`, "every pair"},
		{"negative dim", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"n"}],"features":{"name":"x","dim":-1}}`, "dimension -1"},
		{"absurd dim", `{"format":1,"experts":[{"name":"a","fee":0}],"advice":[{"name":"n"}],"features":{"name":"x","dim":4611686018427387904}}`, "at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseActions([]byte(c.json)); err == nil || !strings.Contains(err.Error(), c.msg) {
				t.Errorf("got %v, expected %q", err, c.msg)
			}
		})
	}
}

// A list of fees whose key is not "experts" would make everything free.
func TestReadFeesKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"experts":{"a":0.5,"A":1},"note":{"Experts":{}}}`: "",
		`{"Experts":{"a":0.5}}`:                             `key "Experts" must be spelt "experts"`,
		`{"experts":{"a":0.5},"ADVICE":{"b":1}}`:            `key "ADVICE" must be spelt "advice"`,
	} {
		file := filepath.Join(t.TempDir(), "fees.json")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFees(t.Context(), storage.File(file))
		if got := fmt.Sprint(err); !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	a := &Actions{Experts: []Expert{{"a", -1}, {"a", 0}}, Advice: []Advice{{"", 2}}}
	err := a.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("expected four problems, got %v", err)
	}
	if _, err := json.Marshal(a); err == nil {
		t.Error("a bad description was written as JSON")
	}
}

func TestSameSet(t *testing.T) {
	a := testActions(2, 2)
	for name, change := range map[string]func(*Actions){
		"expert":      func(a *Actions) { a.Experts[1].Name = "x" },
		"advice":      func(a *Actions) { a.Advice[1].Name = "x" },
		"number":      func(a *Actions) { a.Experts = a.Experts[:1] },
		"unavailable": func(a *Actions) { a.Unavailable = []Pair{{1, 1}} },
	} {
		b := testActions(2, 2)
		if err := a.SameSet(b); err != nil {
			t.Fatal(err)
		}
		change(b)
		if a.SameSet(b) == nil {
			t.Errorf("change of %s went unnoticed", name)
		}
	}
}

// FuzzParseActions: whatever parses is valid and survives another round.
func FuzzParseActions(f *testing.F) {
	f.Add(testActions(2, 3).JSON())
	f.Add([]byte(`{"format":1,"experts":[{"name":"a","fee":1e309}],"advice":[{"name":"none"}],"unavailable":[{"expert":"a","advice":"none"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseActions(b)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("parsed and invalid: %v", err)
		}
		again, err := ParseActions(a.JSON())
		if err != nil || string(again.JSON()) != string(a.JSON()) {
			t.Fatalf("second round: %v", err)
		}
	})
}

// manyActions are 5,000 actions of which every second one does not exist.
func manyActions() *Actions {
	a := &Actions{}
	for j := range 100 {
		a.Experts = append(a.Experts, Expert{Name: fmt.Sprint("expert-", j)})
	}
	for k := range 50 {
		a.Advice = append(a.Advice, Advice{Name: fmt.Sprint("advice-", k)})
	}
	for i := 1; i < a.Len(); i += 2 {
		j, k := a.Pair(i)
		a.Unavailable = append(a.Unavailable, Pair{j, k})
	}
	return a
}

// TestMaskIsAvailable: both ways to ask agree, also after JSON.
func TestMaskIsAvailable(t *testing.T) {
	a := manyActions()
	b, err := ParseActions(a.JSON())
	if err != nil {
		t.Fatal(err)
	}
	for i, available := range b.Mask() {
		if available != (i%2 == 0) || available != a.Available(i) {
			t.Fatalf("action %d: %v, %v", i, available, a.Available(i))
		}
	}
	if err := a.SameSet(b); err != nil {
		t.Error(err)
	}
}

// BenchmarkActions is what every reader of a tensor or a policy does.
func BenchmarkActions(b *testing.B) {
	x := manyActions()
	text := x.JSON()
	b.Run("parse/actions=5000", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseActions(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("same/actions=5000", func(b *testing.B) {
		for b.Loop() {
			if err := x.SameSet(x); err != nil {
				b.Fatal(err)
			}
		}
	})
}
