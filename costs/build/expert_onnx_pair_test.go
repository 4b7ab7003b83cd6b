package build

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/builder/part"
	"pipe/costs/language/languagetest"
	"pipe/featurize/tokenizer"
	"pipe/internal/realdata"
	"pipe/onnx"
)

// debertaGolden is what transformers says of the tiny pair classifier.
type debertaGolden struct {
	Pairs  [][2]string `json:"pairs_premise_hypothesis"`
	IDs    [][]int32   `json:"input_ids"`
	Types  [][]int32   `json:"token_type_ids"`
	Logits [][]float32
}

func newPairTest(t *testing.T, settings map[string]any) *pairClassifier {
	t.Helper()
	if settings["model"] == nil {
		settings["model"] = realdata.Folder(t, "models", "tiny-random", "deberta-v3-tiny-random")
	}
	e, err := newPairClassifier(context.Background(), textSetup(t), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e.(*pairClassifier)
}

// TestPairLogitsEqualTransformers classifies all pairs at once and one by one.
func TestPairLogitsEqualTransformers(t *testing.T) {
	var g debertaGolden
	languagetest.ReadJSON(t, filepath.Join(realdata.Folder(t, "models", "tiny-random", "deberta-v3-tiny-random"), "golden.json"), &g)
	for _, tokens := range []int{4096, 1} {
		e := newPairTest(t, map[string]any{"batch_tokens": tokens})
		var pairs []tokenizer.Encoding
		for i, p := range g.Pairs {
			pair, err := e.encode(p[0], p[1])
			if err != nil || !slices.Equal(pair.IDs, g.IDs[i]) || !slices.Equal(pair.Types, g.Types[i]) {
				t.Fatalf("pair %d: %v, %v", i, pair, err)
			}
			pairs = append(pairs, pair)
		}
		got, err := e.logits(context.Background(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range slices.Concat(g.Logits...) {
			if math.Abs(float64(got[i]-want)) > 1e-4 {
				t.Errorf("batches of %d tokens: logit %d is %v, want %v", tokens, i, got[i], want)
			}
		}
	}
}

func TestPairClassifierKeepsTheLaws(t *testing.T) {
	batch, shown := claims(7)
	for _, settings := range []map[string]any{{}, {"batch_tokens": 1}, {"max_length": 60, "titles": false}} {
		expertLaws(t, newPairTest(t, settings), batch, shown)
	}
}

// TestPairAnswersUseTheModelsClasses: the tiny model's classes are entailment,
// neutral and contradiction, in this order.
func TestPairAnswersUseTheModelsClasses(t *testing.T) {
	ctx := context.Background()
	batch, shown := claims(4)
	e := newPairTest(t, map[string]any{"no_evidence": "Nothing is known."})
	labels := []string{"SUPPORTS", "NOT ENOUGH INFO", "REFUTES"}
	if !slices.Equal(e.Labels(), labels) {
		t.Errorf("labels %q", e.Labels())
	}
	got, err := e.Predict(ctx, batch, shown)
	if err != nil {
		t.Fatal(err)
	}
	for k := range shown {
		for n, in := range batch {
			pair := e.tokens.EncodePair(e.premise(shown[k][n].Passages), in.Text, tokenizer.Options{Special: true})
			row, err := e.logits(ctx, []tokenizer.Encoding{pair})
			if err != nil {
				t.Fatal(err)
			}
			if want := labels[argmax(row)]; got[k][n].Label != want {
				t.Errorf("level %d, claim %d: %s, want %s", k, n, got[k][n].Label, want)
			}
		}
	}
}

func TestPremises(t *testing.T) {
	two := []part.Passage{{Page: "Lake", Text: "It is cold."}, {Page: "", Text: "It is deep."}}
	e := &pairClassifier{cfg: pairClassifierSettings{NoEvidence: "?", Titles: true}}
	if got := e.premise(nil) + "|" + e.premise(two); got != "?|Lake: It is cold. It is deep." {
		t.Errorf("got %q", got)
	}
	e.cfg.Titles = false
	if got := e.premise(two); got != "It is cold. It is deep." {
		t.Errorf("got %q", got)
	}
}

// TestLongPairsLoseTheEndOfTheirEvidence: the claim stays whole.
func TestLongPairsLoseTheEndOfTheirEvidence(t *testing.T) {
	e := newPairTest(t, map[string]any{"max_length": 40})
	const claim = "The lake froze."
	long := strings.Repeat("It was cold. ", 50)
	whole := e.tokens.EncodePair(long, claim, tokenizer.Options{Special: true})
	end := e.tokens.EncodePair("", claim, tokenizer.Options{Special: true}).IDs[1:]
	got, err := e.encode(long, claim)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(whole.IDs[:40-len(end)], end)
	if !slices.Equal(got.IDs, want) || len(got.Types) != 40 {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := e.encode(long, long); err == nil || !strings.Contains(err.Error(), "the claim alone has more than the 40 tokens") {
		t.Errorf("got %v", err)
	}
}

// pairGraph scores pairs by their ids and types, whatever the filling.
func pairGraph(t *testing.T, dir string, weights ...float32) {
	t.Helper()
	g := onnx.NewGraph("pairs")
	shape := onnx.Shape{onnx.Sym("batch"), onnx.Sym("sequence")}
	ids, mask := g.Input("input_ids", onnx.Int64, shape), g.Input("attention_mask", onnx.Int64, shape)
	types := g.Input("token_type_ids", onnx.Int64, shape)
	total := func(v *onnx.Value) *onnx.Value {
		return g.Cast(g.ReduceSum(g.Mul(v, mask), true, 1), onnx.Float32)
	}
	sum := g.Mul(total(ids), g.Const(onnx.Float32s([]int64{1, int64(len(weights))}, weights)))
	g.Output("logits", g.Add(sum, total(types)))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(filepath.Join(dir, "model.onnx")); err != nil {
		t.Fatal(err)
	}
}

// pairFolder writes a classifier whose classes have the given names.
func pairFolder(t *testing.T, classes ...string) string {
	t.Helper()
	dir := t.TempDir()
	names := make(map[string]string)
	for i, c := range classes {
		names[string(rune('0'+i))] = c
	}
	languagetest.WriteJSON(t, filepath.Join(dir, "config.json"), map[string]any{"model_type": "bert", "vocab_size": 300, "id2label": names})
	languagetest.WriteJSON(t, filepath.Join(dir, "tokenizer.json"), languagetest.ByteTokenizer("[PAD]", "[CLS]", "[SEP]"))
	pairGraph(t, dir, 1, -1, 0.5)
	return dir
}

// TestGraphsWithTokenTypes tells the claim's tokens from the evidence's.
func TestGraphsWithTokenTypes(t *testing.T) {
	e := newPairTest(t, map[string]any{"model": pairFolder(t, "ENTAILMENT", "Neutral", "contradiction")})
	pairs := []tokenizer.Encoding{{IDs: []int32{5, 6}, Types: []int32{0, 1}}, {IDs: []int32{1, 2, 3}, Types: []int32{0, 1, 1}}}
	got, err := e.logits(context.Background(), pairs)
	if want := []float32{12, -10, 6.5, 8, -4, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	pairGraph(t, filepath.Dir(e.file), 1, -1, float32(math.NaN()))
	e = newPairTest(t, map[string]any{"model": filepath.Dir(e.file)})
	if _, err := e.logits(context.Background(), pairs); err == nil || !strings.Contains(err.Error(), `model.onnx": output "logits": score 2 is NaN`) {
		t.Errorf("got %v", err)
	}
}

// TestClassesThatAreNotTheLabels: every misfit names the class or the label.
func TestClassesThatAreNotTheLabels(t *testing.T) {
	nli := []string{"entailment", "neutral", "contradiction"}
	for want, c := range map[string]struct {
		classes []string
		names   map[string]string
	}{
		`label_names has no label for class "LABEL_0"; the model's classes are LABEL_0, LABEL_1, LABEL_2`: {[]string{"LABEL_0", "LABEL_1", "LABEL_2"}, nil},
		`label_names: no class has label "REFUTES"`:                                                       {nli[:1:1], map[string]string{"entailment": "SUPPORTS"}},
		`label_names gives label "REFUTES" to two classes`:                                                {nli, map[string]string{"entailment": "SUPPORTS", "neutral": "REFUTES", "contradiction": "REFUTES"}},
		`label_names: unknown label "REFUTED" of class "contradiction"; known are SUPPORTS, REFUTES`:      {nli, map[string]string{"entailment": "SUPPORTS", "neutral": "NOT ENOUGH INFO", "contradiction": "REFUTED"}},
		"config.json does not name the classes (id2label)":                                                {nil, nil},
	} {
		settings := map[string]any{"model": pairFolder(t, c.classes...), "label_names": c.names}
		_, err := newPairClassifier(context.Background(), textSetup(t), settings)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestPairGraphsThatDoNotFit: a wrong input or output is an error that names the
// file.
func TestPairGraphsThatDoNotFit(t *testing.T) {
	for want, c := range map[string]struct{ from, to, output string }{
		`model.onnx": has an input "segments" that a pair classifier is not known to take; known are input_ids`: {"token_type_ids", "segments", ""},
		`model.onnx": has no input "input_ids"`:                                                    {"input_ids", "token_type_ids", ""},
		`model.onnx": has no output "logits"; name the one with the scores`:                        {"logits", "scores", ""},
		`model.onnx": output "logits" is float32 of shape [batch 2]; float32 [batch, 3] is needed`: {"", "", "two classes"},
	} {
		dir := pairFolder(t, "entailment", "neutral", "contradiction")
		if c.output != "" {
			pairGraph(t, dir, 1, -1)
		}
		renameValue(t, filepath.Join(dir, "model.onnx"), c.from, c.to)
		if _, err := newPairClassifier(context.Background(), textSetup(t), map[string]any{"model": dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTokenIDsOfConfigurations(t *testing.T) {
	for text, want := range map[string][]int32{"7": {7}, "[7, 8]": {7, 8}, "null": nil} {
		var got tokenIDs
		if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	var got tokenIDs
	if json.Unmarshal([]byte(`"end"`), &got) == nil {
		t.Errorf("a text is read as %v", got)
	}
}
