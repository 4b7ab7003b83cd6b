package grade

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
)

// squad is an independent implementation of the two measures of SQuAD, with the punctuation of all scripts.
const squad = `
import collections, json, re, string, sys, unicodedata
ascii = set(string.punctuation)
def plain(s):
    s = unicodedata.normalize("NFC", s).lower()
    s = "".join(c for c in s if c not in ascii and unicodedata.category(c)[0] != "P")
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", s).split())
def f1(a, b):
    a, b = plain(a).split(), plain(b).split()
    if not a or not b:
        return float(a == b)
    same = sum((collections.Counter(a) & collections.Counter(b)).values())
    if same == 0:
        return 0.0
    p, r = same / len(a), same / len(b)
    return 2 * p * r / (p + r)
out = []
for answer, references in json.load(open(sys.argv[1], encoding="utf-8")):
    out.append([max(f1(answer, r) for r in references), max(float(plain(answer) == plain(r)) for r in references)])
print(json.dumps(out))
`

// Generated answers, with Unicode, have the scores that Python gives them.
func TestScoresOfSQuADAreThoseOfPython(t *testing.T) {
	interpreter := judge.Python(t)
	words := []string{
		"the", "The", "a", "an", "AN", "cat", "Cat", "cats", "don't", "dont", "«cat»", "U.S.", "US", "$5", "5", "naïve", "nai\u0308ve", "ΟΔΟΣ", "οδος",
		"İzmir", "straße", "STRASSE", "東京", "東京。", "_", "a_b", "é", "éa", "thé", "½", "Ⅷ", "—", "‘a’", "\u00a0", "\t", "\u2003", "\x1f", "a\u0301", "x²", "€", "a€the", "ǅ", "ﬁn",
	}
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(7) {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(6) > 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	ignore := []any{}
	for _, w := range ignorable {
		ignore = append(ignore, w)
	}
	f, e := open(t, "f1", nil), open(t, "exact", map[string]any{"ignore": ignore})
	var cases [][]any
	var answers []Answer
	for len(answers) < 4000 {
		a := Answer{Text: text()}
		for range 1 + r.IntN(3) {
			if reference := text(); f.Check(reference) == nil && e.Check(reference) == nil {
				a.References = append(a.References, reference)
			}
		}
		if len(a.References) > 0 {
			answers, cases = append(answers, a), append(cases, []any{a.Text, a.References})
		}
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var want [][2]float64
	if err := json.Unmarshal([]byte(judge.Run(t, interpreter, "", squad, file)), &want); err != nil {
		t.Fatal(err)
	}
	byF1, err := f.Grade(context.Background(), answers)
	if err != nil {
		t.Fatal(err)
	}
	byExact, err := e.Grade(context.Background(), answers)
	if err != nil {
		t.Fatal(err)
	}
	partial := 0
	for i, a := range answers {
		if math.Abs(byF1[i]-want[i][0]) > 1e-12 || byExact[i] != want[i][1] {
			t.Errorf("%q against %q: F1 %v, exact %v; Python: %v", a.Text, a.References, byF1[i], byExact[i], want[i])
		}
		if byF1[i] > 0 && byF1[i] < 1 {
			partial++
		}
	}
	if partial < 500 {
		t.Errorf("only %d scores are between 0 and 1", partial)
	}
}

// jsonShares is an independent implementation of the grader of JSON objects without settings.
const jsonShares = `
import json, sys
from fractions import Fraction
def pairs(list):
    keys = [k for k, _ in list]
    if len(set(keys)) < len(keys):
        raise ValueError("duplicate")
    return dict(list)
def load(text):
    v = json.loads(text, parse_float=Fraction, parse_int=Fraction, object_pairs_hook=pairs)
    if not isinstance(v, dict):
        raise ValueError("no object")
    return v
def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b
out = []
for answer, reference in json.load(open(sys.argv[1], encoding="utf-8")):
    want = load(reference)
    try:
        got = load(answer)
        out.append(sum(k in got and same(got[k], want[k]) for k in want) / len(want))
    except ValueError:
        out.append(0.0)
print(json.dumps(out))
`

// Generated objects share the fields that Python finds equal.
func TestSharesOfFieldsAreThoseOfPython(t *testing.T) {
	interpreter := judge.Python(t)
	r := rand.New(rand.NewPCG(3, 4))
	values := []string{"1", "1.0", "10e-1", `"1"`, "true", "false", "null", "0", "-0", `"a"`, `"A"`, `"\u0061"`, `"é"`, "[1, 2]", "[1, 2.0]", "[2, 1]", `{"x": 1}`, `{"x": 1.0, "y": {}}`, `{"y": {}, "x": 1}`, "{}", "[]", "1e400", "12345678901234567890", "12345678901234567891"}
	object := func() string {
		var fields []string
		for _, name := range []string{"a", "b", "c", "a"} {
			if n := r.IntN(20); n > 5 && (name != "a" || len(fields) == 0) || n == 0 {
				fields = append(fields, `"`+name+`": `+values[r.IntN(len(values))])
			}
		}
		text := "{" + strings.Join(fields, ", ") + "}"
		return []string{text, text, text, " " + text + "\n", text + "}", text[1:]}[r.IntN(6)]
	}
	g := open(t, "json", nil)
	var answers []Answer
	var cases [][2]string
	for len(answers) < 3000 {
		a, reference := object(), object()
		if g.Check(reference) == nil {
			answers, cases = append(answers, Answer{Text: a, References: []string{reference}}), append(cases, [2]string{a, reference})
		}
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	b, err := json.Marshal(cases)
	if err == nil {
		err = os.WriteFile(file, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	if err := json.Unmarshal([]byte(judge.Run(t, interpreter, "", jsonShares, file)), &want); err != nil {
		t.Fatal(err)
	}
	got, err := g.Grade(context.Background(), answers)
	if err != nil {
		t.Fatal(err)
	}
	partial := 0
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("%s against %s: %v; Python: %v", answers[i].Text, answers[i].References[0], got[i], want[i])
		}
		if got[i] > 0 && got[i] < 1 {
			partial++
		}
	}
	if partial < 100 {
		t.Errorf("only %d shares are between 0 and 1", partial)
	}
}
