package bm25

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// scorer ranks all pages for every query with NumPy, from the words alone, and
// prints the ids of the best five.
const scorer = `
import json, sys, unicodedata, numpy as np
pages, claims, k1, b = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
names = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "-COLON-": ":"}
def plain(s):
    for name, mark in names.items(): s = s.replace(name, mark)
    return s
kinds = {}
def inside(c):
    if c not in kinds:
        kind = unicodedata.category(c)
        kinds[c] = kind[0] in "LM" or kind == "Nd"
    return kinds[c]
def words(s): return "".join(c if inside(c) else " " for c in s.lower()).split()
docs = sorted((json.loads(line) for line in open(pages, encoding="utf-8")), key=lambda d: d["id"].encode())
ids = [d["id"] for d in docs]
texts = [words(plain(d["id"]).replace("_", " ")) + words(plain(d["text"])) for d in docs]
length = np.array([len(t) for t in texts], float)
norm = k1 * (1 - b + b * length / length.mean())
index = {}
for n, t in enumerate(texts):
    for w in t:
        row = index.setdefault(w, {})
        row[n] = row.get(n, 0) + 1
out = []
for query in json.load(open(claims, encoding="utf-8")):
    score = np.zeros(len(docs))
    for w in words(query):
        row = index.get(w, {})
        at, tf = np.array(list(row), int), np.array(list(row.values()), float)
        if len(at):
            score[at] += np.log(1 + (len(docs) - len(at) + .5) / (len(at) + .5)) * tf / (tf + norm[at])
    best = sorted(np.flatnonzero(score), key=lambda n: (-round(score[n], 9), n))[:5]
    out.append([ids[n] for n in best])
print(json.dumps(out))
`

// TestRealPagesAreRankedAsNumPyRanksThem compares the five best of 2,044 pages
// for 200 claims.
func TestRealPagesAreRankedAsNumPyRanksThem(t *testing.T) {
	pages := filepath.Join(realdata.Folder(t, "fever"), "wiki-pages-001.jsonl")
	python := judge.Python(t, "numpy")
	s := Settings{K1: 0.9, B: 0.4, Title: 1}
	x := built(t, BuildOptions{Pages: storage.File(pages), Settings: s})
	claims := realClaims(t, 200)
	asked, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "claims.json")
	if err := os.WriteFile(file, asked, 0o644); err != nil {
		t.Fatal(err)
	}
	var want [][]string
	if err := json.Unmarshal([]byte(judge.Run(t, python, "", scorer, pages, file, "0.9", "0.4")), &want); err != nil {
		t.Fatal(err)
	}
	for i, claim := range claims {
		hits, err := x.Search(claim, 5)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, h.Page)
		}
		if strings.Join(got, " ") != strings.Join(want[i], " ") {
			t.Errorf("claim %d: found %v, want %v", i, got, want[i])
		}
	}
}

// realClaims returns every 50th claim of the real file, up to n.
func realClaims(t testing.TB, n int) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realdata.Folder(t, "fever"), "paper_dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var claims []string
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var c struct{ Claim string }
		if i%50 != 0 || len(claims) == n {
			continue
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		claims = append(claims, c.Claim)
	}
	return claims
}

// TestRealPagesEqualTheFormula compares with the reference, to the last bit.
func TestRealPagesEqualTheFormula(t *testing.T) {
	path := filepath.Join(realdata.Folder(t, "fever"), "wiki-pages-001.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var pages []Page
	for line := range strings.Lines(string(b)) {
		p, err := parsePage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	x, f := built(t, BuildOptions{Pages: storage.File(path), Settings: DefaultSettings()}), newReference(pages, DefaultSettings())
	for _, claim := range realClaims(t, 200) {
		hits, err := x.Search(claim, 5)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, claim, hits, f.search(claim, 5))
	}
}
