package language

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/language/languagetest"
	"pipe/featurize/tokenizer"
	"pipe/internal/realdata"
)

// debertaGolden is the output of transformers for the tiny pair classifier.
type debertaGolden struct {
	Pairs  [][2]string `json:"pairs_premise_hypothesis"`
	IDs    [][]int32   `json:"input_ids"`
	Types  [][]int32   `json:"token_type_ids"`
	Logits [][]float32
}

// openPairTest opens a classifier of pairs with the classes of its folder.
func openPairTest(t *testing.T, folder string, change func(*PairSettings)) *Pair {
	t.Helper()
	cfg := DefaultPairSettings()
	cfg.Model = part.Path(folder)
	if change != nil {
		change(&cfg)
	}
	s := languageSetup(t)
	f, err := OpenFolder(context.Background(), s, &cfg.FolderSettings)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenPair(s, &cfg, f, len(f.Classes()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestPairLogitsEqualTransformers classifies all pairs at once and one by one.
func TestPairLogitsEqualTransformers(t *testing.T) {
	var g debertaGolden
	folder := realdata.Folder(t, "models", "tiny-random", "deberta-v3-tiny-random")
	languagetest.ReadJSON(t, filepath.Join(folder, "golden.json"), &g)
	for _, tokens := range []int{4096, 1} {
		m := openPairTest(t, folder, func(cfg *PairSettings) { cfg.Tokens = tokens })
		var pairs []tokenizer.Encoding
		for i, p := range g.Pairs {
			pair, err := m.Encode(p[0], p[1])
			if err != nil || !slices.Equal(pair.IDs, g.IDs[i]) || !slices.Equal(pair.Types, g.Types[i]) {
				t.Fatalf("pair %d: %v, %v", i, pair, err)
			}
			pairs = append(pairs, pair)
		}
		got, err := m.Logits(context.Background(), pairs)
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

// TestLongPairsLoseTheEndOfTheirEvidence: the claim stays whole.
func TestLongPairsLoseTheEndOfTheirEvidence(t *testing.T) {
	m := openPairTest(t, realdata.Folder(t, "models", "tiny-random", "deberta-v3-tiny-random"), func(cfg *PairSettings) { cfg.MaxLength = 40 })
	const claim = "The lake froze."
	long := strings.Repeat("It was cold. ", 50)
	whole := m.tokens.EncodePair(long, claim, tokenizer.Options{Special: true})
	end := m.tokens.EncodePair("", claim, tokenizer.Options{Special: true}).IDs[1:]
	got, err := m.Encode(long, claim)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(whole.IDs[:40-len(end)], end)
	if !slices.Equal(got.IDs, want) || len(got.Types) != 40 {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := m.Encode(long, long); err == nil || !strings.Contains(err.Error(), "the claim alone exceeds max_length, 40 tokens") {
		t.Errorf("got %v", err)
	}
}

// TestGraphsWithTokenTypes: the tokens of the claim have another type than those of the evidence.
func TestGraphsWithTokenTypes(t *testing.T) {
	folder := languagetest.WritePairFolder(t, "ENTAILMENT", "Neutral", "contradiction")
	m := openPairTest(t, folder, nil)
	pairs := []tokenizer.Encoding{{IDs: []int32{5, 6}, Types: []int32{0, 1}}, {IDs: []int32{1, 2, 3}, Types: []int32{0, 1, 1}}}
	got, err := m.Logits(context.Background(), pairs)
	if want := []float32{12, -10, 6.5, 8, -4, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	languagetest.WritePairGraph(t, folder, 1, -1, float32(math.NaN()))
	m = openPairTest(t, folder, nil)
	if _, err := m.Logits(context.Background(), pairs); err == nil || !strings.Contains(err.Error(), `model.onnx": output "logits": score 2 is NaN`) {
		t.Errorf("got %v", err)
	}
}
