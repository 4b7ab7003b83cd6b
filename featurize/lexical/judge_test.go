package lexical

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
)

// judgeFit fits the same by scikit-learn, from the texts and the splitting of words. The n-grams of a word are those of its
// analyzer char_wb. Counts of tokens are weighted where Options.Sublinear says so.
const judgeFit = `
import json, sys
from collections import Counter
import numpy as np
from math import log
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import normalize
from tokenizers import Tokenizer
folder = sys.argv[1]
q = json.load(open(folder + "/question.json"))
tok = Tokenizer.from_file(folder + "/tokenizer.json")
def words(text):
  return [w for w, _ in tok.pre_tokenizer.pre_tokenize_str(tok.normalizer.normalize_str(text))]
grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(q["min_gram"], q["max_gram"]), lowercase=False).build_analyzer()
def features(text):
  return [f for w in words(text) for f in ["word " + w] + (["gram " + g for g in grams(w)] if q["grams"] else [])]
if q["by_hand"]: # tokens are weighted, not features
  index, at, column, value = {}, [0], [], []
  for text in q["texts"]:
    row = Counter()
    for w, c in Counter(words(text)).items():
      for f in features(w):
        row[index.setdefault(f, len(index))] += 1 + log(c)
    column += row.keys(); value += row.values(); at.append(len(column))
  x = TfidfTransformer().fit_transform(csr_matrix((value, column, at), (len(at) - 1, len(index))))
else:
  x = TfidfVectorizer(analyzer=features, min_df=q["min_texts"], sublinear_tf=q["sublinear"]).fit_transform(q["texts"])
svd = TruncatedSVD(q["dim"], algorithm="arpack", tol=0, random_state=0)
vectors = normalize(svd.fit_transform(x))
json.dump({"features": x.shape[1], "singular": list(svd.singular_values_), "vectors": [list(v) for v in vectors]}, open(folder + "/answer.json", "w"))
`

type judgeQuestion struct {
	Texts     []string `json:"texts"`
	Dim       int      `json:"dim"`
	MinGram   int      `json:"min_gram"`
	MaxGram   int      `json:"max_gram"`
	Grams     bool     `json:"grams"`
	MinTexts  int      `json:"min_texts"`
	Sublinear bool     `json:"sublinear"`
	ByHand    bool     `json:"by_hand"`
}

type judgeAnswer struct {
	Features int
	Singular []float64
	Vectors  [][]float64
}

// claims are the first claims of FEVER.
func claims(t testing.TB, n int) (texts []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realdata.Folder(t, "fever"), "paper_dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.SplitN(string(b), "\n", n+1)[:n] {
		var row struct{ Claim string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, row.Claim)
	}
	return texts
}

// TestFitOfScikitLearn: singular values and inner products of vectors equal those of TfidfVectorizer, or TfidfTransformer
// where it cannot weigh tokens, and TruncatedSVD.
func TestFitOfScikitLearn(t *testing.T) {
	python := judge.Python(t, "sklearn", "tokenizers")
	all := DefaultOptions()
	all.Dim, all.MinTexts, all.MaxWords, all.MaxGrams, all.MaxPieces, all.Sublinear, all.MaxLength = 24, 1, 1<<20, 1<<20, 100, false, 4096
	weighted, words := all, all
	weighted.Sublinear, weighted.MinGram, weighted.MaxGram, weighted.Dim = true, 3, 4, 40
	words.Sublinear, words.MinTexts, words.MaxGrams = true, 2, 0
	made, real := func(*testing.T) []string { return generated(8, 700) }, func(t *testing.T) []string { return claims(t, 800) }
	for name, c := range map[string]struct {
		texts func(t *testing.T) []string
		o     Options
	}{
		"words and n-grams": {made, all}, "words and n-grams of claims": {real, all}, "weighted tokens of claims": {real, weighted}, "words": {made, words},
	} {
		t.Run(name, func(t *testing.T) { holdFit(t, python, c.texts(t), c.o) })
	}
}

func holdFit(t *testing.T, python string, texts []string, o Options) {
	m := mustFit(t, texts, o)
	a := ask(t, t.TempDir(), python, judgeFit, m, judgeQuestion{texts, o.Dim, o.MinGram, o.MaxGram, o.MaxGrams > 0, o.MinTexts, o.Sublinear, o.Sublinear && o.MaxGrams > 0})
	if have := m.Report.Words + m.Report.Grams; a.Features != have {
		t.Errorf("%d features, not %d", have, a.Features)
	}
	worst := 0.0
	for i, s := range a.Singular {
		worst = max(worst, math.Abs(m.Report.Singular[i]-s)/s)
	}
	r := open(t, m)
	vectors := make([][]float32, len(texts))
	for n, text := range texts {
		vectors[n] = r.vector(t, text)
	}
	apart := 0.0
	for i := range vectors {
		for j := range i {
			apart = max(apart, math.Abs(dot(vectors[i], vectors[j])-dot(a.Vectors[i], a.Vectors[j])))
		}
	}
	t.Logf("%d features: singular values %.1e apart, relatively; inner products %.1e", a.Features, worst, apart)
	if !(worst < 3e-12) || !(apart < 2e-6) {
		t.Errorf("singular values are %g apart, relatively; inner products %g", worst, apart)
	}
}

func dot[T float32 | float64](a, b []T) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// ask runs a script on a question and the tokenizer, in a folder.
func ask(t *testing.T, dir, python, script string, m *Model, q judgeQuestion) (a judgeAnswer) {
	t.Helper()
	b, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"question.json": b, "tokenizer.json": m.Tokenizer} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	judge.Run(t, python, "", script, dir)
	if b, err = os.ReadFile(filepath.Join(dir, "answer.json")); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// judgeVectors makes the vectors of texts by onnxruntime and tokenizers, in batches with padding.
const judgeVectors = `
import json, sys
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer
folder = sys.argv[1]
q = json.load(open(folder + "/question.json"))
tok = Tokenizer.from_file(folder + "/tokenizer.json")
tok.enable_truncation(q["dim"]) # the most tokens
tok.enable_padding()
s = ort.InferenceSession(folder + "/encoder.onnx")
out = []
for at in range(0, len(q["texts"]), 50):
  e = tok.encode_batch(q["texts"][at:at + 50])
  feeds = {"input_ids": np.array([x.ids for x in e], np.int64), "attention_mask": np.array([x.attention_mask for x in e], np.int64)}
  out += [[float(x) for x in v] for v in s.run(["sentence_embedding"], feeds)[0]]
json.dump({"vectors": out}, open(folder + "/answer.json", "w"))
`

// TestVectorsInPython: the file and the tokenizer are read by other programs with the same result.
func TestVectorsInPython(t *testing.T) {
	python := judge.Python(t, "onnxruntime", "tokenizers")
	o := small()
	o.Facts, o.MaxPieces = true, 2000
	m := mustFit(t, generated(1, 400), o)
	r, dir := open(t, m), t.TempDir()
	if err := m.Graph.WriteFile(filepath.Join(dir, "encoder.onnx")); err != nil {
		t.Fatal(err)
	}
	q := judgeQuestion{Dim: o.MaxLength}
	for _, text := range append(append(generated(1, 1500), generated(6, 1500)...), hard...) {
		q.Texts = append(q.Texts, strings.ToValidUTF8(text, "\ufffd"))
	}
	a := ask(t, dir, python, judgeVectors, m, q)
	for n, text := range q.Texts {
		if d := far(r.vector(t, text), a.Vectors[n]); !(d < 1e-5) {
			t.Errorf("%.40q is %g off", text, d)
		}
	}
}
