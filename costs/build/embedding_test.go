package build

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/builder/parttest"
	"pipe/costs/embedding"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/progress"
	"pipe/onnx"
)

// wordsEmbedder is an embedder of words whose vectors lie in a folder of the test.
func wordsEmbedder(t *testing.T) *embedding.Embedder {
	t.Helper()
	e, err := embedding.New(t.Context(), &parttest.Words{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPairCoder checks what rows of claims and passages promise.
func TestPairCoder(t *testing.T) {
	e := wordsEmbedder(t)
	c := &pairEncoder{e}
	row := func(t *rapid.T, claim string, passages ...string) []float32 {
		dst, list := make([]float32, c.Width()), make([]part.Passage, len(passages))
		for i, text := range passages {
			list[i].Text = text
		}
		if err := c.Encode(context.Background(), dst, []part.Instance{{Text: claim}}, [][]part.Shown{nil, {{Passages: list}}}); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	const d = parttest.WordsDim
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,3}( [a-z]{1,3})?`)
		claim, passages := word.Draw(t, "claim"), rapid.SliceOfN(word, 1, 5).Draw(t, "passages")
		alone, shown := row(t, claim), row(t, claim, passages...)
		if i := slices.IndexFunc(alone[d:], func(v float32) bool { return v != 0 }); i >= 0 {
			t.Fatalf("without passages column %d is %v", d+i, alone[d+i])
		}
		if !slices.Equal(alone[:d], shown[:d]) {
			t.Fatal("passages change the claim")
		}
		mean := make([]float64, d)
		for _, text := range passages {
			for i, v := range row(t, claim, text)[d : 2*d] {
				mean[i] += float64(v) / float64(len(passages))
			}
		}
		for i, e := range mean {
			a := float64(shown[i])
			for at, want := range map[int]float64{d + i: e, 2*d + i: a * e, 3*d + i: math.Abs(a - e)} {
				if math.Abs(float64(shown[at])-want) > 1e-5 {
					t.Fatalf("column %d is %v, want %v", at, shown[at], want)
				}
			}
		}
		if shown[4*d] != 1 || shown[4*d+1] != 1/float32(len(passages)) {
			t.Fatalf("indicators %v for %d passages", shown[4*d:], len(passages))
		}
		for i, v := range row(t, claim, rapid.Permutation(passages).Draw(t, "order")...) {
			if math.Abs(float64(v-shown[i])) > 1e-6 {
				t.Fatalf("in another order column %d is %v, not %v", i, v, shown[i])
			}
		}
	})
}

// TestPairCoderLevels encodes several instances under several levels at once, as
// one by one.
func TestPairCoderLevels(t *testing.T) {
	c := &pairEncoder{wordsEmbedder(t)}
	batch := []part.Instance{{Text: "a b"}, {Text: "c"}}
	levels := [][]part.Shown{{{}, {}}, nil, {{Passages: []part.Passage{{Text: "a"}, {Text: "d"}}}, {Passages: []part.Passage{{Text: "e"}}}}}
	got := make([]float32, 4*c.Width())
	if err := c.Encode(t.Context(), got, batch, levels); err != nil {
		t.Fatal(err)
	}
	for n := range batch {
		for i, k := range []int{0, 2} {
			want := make([]float32, c.Width())
			if err := c.Encode(t.Context(), want, batch[n:n+1], [][]part.Shown{levels[k][n : n+1]}); err != nil {
				t.Fatal(err)
			}
			at := (2*n + i) * c.Width()
			if !slices.Equal(got[at:at+c.Width()], want) {
				t.Errorf("instance %d, level %d has another row", n, k)
			}
		}
	}
	if err := c.Encode(t.Context(), got, []part.Instance{{Entry: part.Entry{ID: "x"}}}, levels[:1]); err == nil || !strings.Contains(err.Error(), `instance "x" has no text`) {
		t.Errorf("without a text: %v", err)
	}
}

// examplesOf returns the examples of the embedding expert of a world.
func (w *world) examplesOf(t *testing.T) (*plan, *claimExamples) {
	t.Helper()
	o := w.options(t)
	p, _, err := prepare(t.Context(), &w.cfg, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, p.Experts[0].Expert.(*trained).examples.(*claimExamples)
}

// read reads all examples.
func (x *claimExamples) read(t *testing.T, p *plan) ([]part.Instance, []part.Shown) {
	t.Helper()
	of := p.preparation(t.TempDir(), filepath.Join(t.TempDir(), "scratch"), nil, &Options{Progress: progress.Silent{}})
	if err := x.embedder.Prepare(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	r, err := x.Open(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	batch, shown, err := r.Read(t.Context(), 0, len(x.list))
	if err != nil {
		t.Fatal(err)
	}
	return batch, shown
}

// TestClaimExamples checks every example against what the documentation says.
func TestClaimExamples(t *testing.T) {
	for _, distractors := range []string{"both", "pages", "sentences"} {
		w := newTextWorld(t, 90).withEmbedding(t, 600)
		w.cfg.Experts[0].Settings["distractors"] = distractors
		p, x := w.examplesOf(t)
		batch, shown := x.read(t, p)
		again, shownAgain := x.read(t, p)
		sentence := make(map[string]string)
		for _, c := range x.claims {
			sentence[c.Text] = c.Sentence
		}
		count := make(map[string]int)
		for i, in := range batch {
			label, list, gold := x.folds.Labels[x.folds.Class[i]], shown[i].Passages, 0
			for _, p := range list {
				if p.Text == sentence[in.Text] {
					gold++
				}
				count["pages"] += strings.Count(p.Text, "Thing")
				count["sentences"] += strings.Count(p.Text, "Item")
			}
			count[fmt.Sprint(label, len(list))]++
			switch n := len(list); {
			case n != 0 && n != 1 && n != 3:
				t.Fatalf("%q has %d passages", in.Text, n)
			case n == 0 && label == claimLabels[2]:
				t.Fatalf("%q alone is said to be unsettled", in.Text)
			case n > 0 && (gold == 1) != (label != claimLabels[2]) || gold > 1:
				t.Fatalf("%q, %s: %d of %d passages settle it", in.Text, label, gold, n)
			case label != claimLabels[2] && strings.Contains(sentence[in.Text], "truly") != (label == claimLabels[0]):
				t.Fatalf("%q has the label %s", in.Text, label)
			}
			if again[i].Text != in.Text || !slices.Equal(shownAgain[i].Passages, list) {
				t.Fatal("the same settings give other examples")
			}
		}
		for _, n := range []int{1, 3} { // 1,200 settled ones over three levels, two labels: 200, five deviations are 65
			for _, label := range claimLabels {
				if c := count[fmt.Sprint(label, n)]; c < 135 || c > 265 {
					t.Errorf("%s: %d examples of %s with %d passages", distractors, c, label, n)
				}
			}
		}
		if (count["pages"] > 0) != (distractors != "sentences") {
			t.Errorf("%s: %v", distractors, count)
		}
	}
}

// TestRoutedClaimsAreNotLearnt puts claims of the build among those to learn
// from, spelled otherwise.
func TestRoutedClaimsAreNotLearnt(t *testing.T) {
	w := newTextWorld(t, 60).withEmbedding(t, 200)
	list := [][]string{{"", "claim", "label", "sentence"}}
	for i := range 40 {
		list = append(list, []string{"", " " + strings.ToUpper(strings.ReplaceAll(testClaim("Thing", i), " ", "  ")), "REFUTES", "secret"})
	}
	b := &strings.Builder{}
	if err := csv.NewWriter(b).WriteAll(list); err != nil {
		t.Fatal(err)
	}
	w.write(t, "train.csv", b.String()+strings.TrimPrefix(readBytes(t, filepath.Join(w.dir, "train.csv")), ",claim,label,sentence\n"))
	p, x := w.examplesOf(t)
	batch, shown := x.read(t, p)
	for i := range batch {
		if strings.HasPrefix(normal(batch[i].Text), "thing") || slices.ContainsFunc(shown[i].Passages, func(p part.Passage) bool { return p.Text == "secret" }) {
			t.Fatalf("example %d is %q with %v", i, batch[i].Text, shown[i].Passages)
		}
	}
	if got := p.actions.Digests[`claims left out of expert "net"`]; got != "40 that are routed on" || len(x.claims) != 200 {
		t.Errorf("%q, %d claims are left", got, len(x.claims))
	}
}

// TestEmbeddingExpert builds a tensor and looks at the expert's answers: it must
// have learnt to read passages.
func TestEmbeddingExpert(t *testing.T) {
	w := newTextWorld(t, 240).withEmbedding(t, 900)
	r, err := Diagnose(t.Context(), w.cfg, w.options(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Experts {
		t.Logf("%s: accuracy %.3f", f.Advice, *f.Accuracy)
		if f.Advice == "top-1" && *f.Accuracy < 0.6 || f.Advice == "none" && *f.Accuracy > 0.45 || f.Threshold != nil || f.AUC != nil {
			t.Errorf("%+v", f)
		}
	}
	if r.CrossFit != "" {
		t.Errorf("answers are said to be %q", r.CrossFit)
	}
	_, tensor := w.build(t)
	m, err := onnx.ReadFile(w.expertFile("net"))
	if err != nil {
		t.Fatal(err)
	}
	meta, out := m.Metadata(), m.Outputs()
	if meta["pipe.expert"] != "embedding" || meta[trainingKey] != tensor.Actions.Digests[`model training of expert "net"`] || meta["pipe.labels"] != `["SUPPORTS","REFUTES","NOT ENOUGH INFO"]` {
		t.Errorf("metadata %v", meta)
	}
	if len(out) != 1 || out[0].Name != "probability" || out[0].Shape[1].Size != 3 {
		t.Errorf("outputs %v", out)
	}
}

// TestEmbeddingExpertDependsOn changes what it learns from, one thing at a time.
func TestEmbeddingExpertDependsOn(t *testing.T) {
	digests := make(map[string]string)
	settings := func(name string, v any) func(w *world) {
		return func(w *world) { w.cfg.Experts[0].Settings[name] = v }
	}
	for name, change := range map[string]func(w *world){
		"nothing":     func(*world) {},
		"fee":         func(w *world) { w.cfg.Experts[0].Fee = 3 },
		"split":       func(w *world) { w.cfg.Split.Settings = map[string]any{"validation": 0.5} },
		"claims":      func(w *world) { w.edit(t, "train.csv", "Item0 is truly", "Item0 is surely") },
		"pages":       func(w *world) { w.edit(t, "pages.jsonl", "Thing0 is truly", "Thing0 is surely") },
		"encoder":     func(w *world) { w.useWords(&parttest.Words{Salt: "other"}) },
		"instances":   func(w *world) { w.edit(t, "claims.jsonl", "Thing4 is", "Item0 is") },
		"level":       func(w *world) { w.cfg.Experts[0].Unavailable = []string{"top-3"} },
		"top":         func(w *world) { w.cfg.Advice[2].Settings["top"] = 2 },
		"seed":        settings("seed", 1),
		"share":       settings("share", 0.25),
		"draws":       settings("draws", 1),
		"distractors": settings("distractors", "sentences"),
		"hidden":      settings("hidden", []int{}),
	} {
		w := newTextWorld(t, 30).withEmbedding(t, 40)
		change(w)
		p, _ := w.examplesOf(t)
		digests[name] = p.Inputs[`model training of expert "net"`]
	}
	for _, name := range []string{"fee", "split"} {
		if digests[name] != digests["nothing"] {
			t.Errorf("%s: the model is another one", name)
		}
		delete(digests, name)
	}
	if distinct := slices.Sorted(maps.Values(digests)); len(slices.Compact(distinct)) != len(digests) {
		t.Errorf("some changes do not count: %v", digests)
	}
}

func TestBadEmbeddingSettings(t *testing.T) {
	settings := func(name string, v any) func(w *world) {
		return func(w *world) { w.cfg.Experts[0].Settings[name] = v }
	}
	row := func(row string) func(w *world) {
		return func(w *world) { w.write(t, "train.csv", "claim,label,sentence\n"+row+"\n") }
	}
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"encoder":       {settings("encoder", ""), "encoder: none is named"},
		"no train":      {settings("train", ""), "train: no file is named"},
		"no pages":      {settings("pages", ""), "index, pages, opensearch"},
		"share":         {settings("share", 1), "share is 1"},
		"draws":         {settings("draws", 0), "draws is 0"},
		"distractors":   {settings("distractors", "x"), `distractors is "x"; known are pages, sentences, both`},
		"unsettled":     {settings("unsettled", "x"), `unsettled: "x" is no label`},
		"threshold":     {settings("threshold", 0.4), "threshold tells two labels apart, and there are 3"},
		"column":        {settings("claim", "x"), "train.csv"},
		"label":         {row("a,MAYBE,b"), `train.csv": row 2: column label: unknown label "MAYBE"`},
		"no claim":      {row(" ,SUPPORTS,b"), `row 2: column claim: is empty`},
		"no sentence":   {row("a,SUPPORTS,"), `row 2: column sentence: is empty, but the label is "SUPPORTS"`},
		"sentence":      {row("a,NOT ENOUGH INFO,b"), `column sentence: is there, but the label is "NOT ENOUGH INFO"`},
		"too few":       {row("thing0 is red.,SUPPORTS,b"), "train: 0 claims that are not routed on"},
		"spelled alike": {row("a,NOT_ENOUGH_INFO,\nb,SUPPORTS,c"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTextWorld(t, 12).withEmbedding(t, 20)
			c.change(w)
			_, err := Run(t.Context(), w.cfg, w.options(t))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			var bad *costs.DataError
			if strings.Contains(c.want, "row 2") && !errors.As(err, &bad) {
				t.Errorf("%v is no problem of the data", err)
			}
		})
	}
}
