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
