package language

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/language/languagetest"
	"pipe/featurize/tokenizer"
	"pipe/internal/progress"
	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// languageSetup is the setup of an expert over texts.
func languageSetup(t testing.TB) *part.Setup {
	t.Helper()
	b := &part.Build{
		Labels: []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"},
		Inputs: make(part.Inputs), Open: func() (*ort.Runtime, error) { return orttest.Open(t, 0), nil }, Progress: progress.Silent{},
	}
	return b.Setup(`expert "model"`)
}

// openCausalTest opens a model with its tokenizer.
func openCausalTest(t testing.TB, folder string, change func(*CausalSettings)) *Causal {
	t.Helper()
	cfg := DefaultCausalSettings()
	cfg.Model = part.Path(folder)
	if change != nil {
		change(&cfg)
	}
	c, err := OpenCausal(context.Background(), languageSetup(t), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// qwenGolden is the output of transformers for the tiny causal model.
type qwenGolden struct {
	Prompts       []string
	IDs           [][]int32 `json:"input_ids"`
	Labels        []string
	LabelIDs      [][]int32   `json:"label_ids"`
	LogProbs      [][]float64 `json:"label_logprob"`
	LastLogits    [][]float32 `json:"last_logits"`
	continuations []Continuation
}

func readQwenGolden(t testing.TB) (folder string, g *qwenGolden) {
	t.Helper()
	folder = realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random")
	g = &qwenGolden{}
	languagetest.ReadJSON(t, filepath.Join(folder, "golden.json"), g)
	for _, p := range g.IDs {
		for _, l := range g.LabelIDs {
			g.continuations = append(g.continuations, Continuation{p, l})
		}
	}
	return folder, g
}

// TestLabelLogProbabilitiesEqualTransformers scores all labels after all
// prompts in one call, one by one, and in calls of a few rows.
func TestLabelLogProbabilitiesEqualTransformers(t *testing.T) {
	folder, g := readQwenGolden(t)
	for _, tokens := range []int{4096, 160, 1} {
		c := openCausalTest(t, folder, func(cfg *CausalSettings) { cfg.Tokens = tokens })
		for i, p := range g.Prompts {
			if got := c.tokens.Encode(p, tokenizer.Options{}).IDs; !slices.Equal(got, g.IDs[i]) {
				t.Fatalf("prompt %d: ids %v", i, got)
			}
		}
		for i, l := range g.Labels {
			if got := c.tokens.Encode(l, tokenizer.Options{}).IDs; !slices.Equal(got, g.LabelIDs[i]) {
				t.Fatalf("label %s: ids %v", l, got)
			}
		}
		got, err := c.LogProbabilities(context.Background(), g.continuations)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if want := g.LogProbs[i/len(g.Labels)][i%len(g.Labels)]; math.Abs(v-want) > 1e-4 {
				t.Errorf("batches of %d tokens, prompt %d, %s: %v, want %v", tokens, i/len(g.Labels), g.Labels[i%len(g.Labels)], v, want)
			}
		}
	}
}

// TestLastLogitsEqualTransformers asks for one row of logits of each of several
// filled up prompts.
func TestLastLogitsEqualTransformers(t *testing.T) {
	folder, g := readQwenGolden(t)
	c := openCausalTest(t, folder, nil)
	q := &call{rows: g.IDs}
	for i, ids := range g.IDs {
		q.picks = append(q.picks, [2]int{i, len(ids) - 1})
	}
	got, _, err := c.run(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range slices.Concat(g.LastLogits...) {
		if math.Abs(float64(got[i]-v)) > 1e-4 {
			t.Fatalf("logit %d is %v, want %v", i, got[i], v)
		}
	}
}

// TestGreedyAnswersEqualTransformers compares with generate(do_sample=False) of
// transformers 5.23.0 under PyTorch.
func TestGreedyAnswersEqualTransformers(t *testing.T) {
	folder, g := readQwenGolden(t)
	c := openCausalTest(t, folder, nil)
	var cases []struct {
		Text   string
		Prompt int // of the goldens, where there is no text
		Tokens []int32
	}
	languagetest.ReadJSON(t, "testdata/greedy.json", &cases)
	for _, q := range cases {
		prompt := g.IDs[q.Prompt]
		if q.Text != "" {
			prompt = c.tokens.Encode(q.Text, tokenizer.Options{}).IDs
		}
		got, err := c.generate(context.Background(), prompt, len(q.Tokens))
		if err != nil || !slices.Equal(got, q.Tokens) {
			t.Errorf("%q, prompt %d: %v, %v, want %v", q.Text, q.Prompt, got, err, q.Tokens)
		}
	}
	if !reflect.DeepEqual(c.end, []int32{1992}) {
		t.Errorf("end tokens %v", c.end)
	}
	c.end = cases[0].Tokens[3:4]
	stop := slices.Index(cases[0].Tokens, c.end[0])
	prompt := c.tokens.Encode(cases[0].Text, tokenizer.Options{}).IDs
	if got, err := c.generate(context.Background(), prompt, 24); err != nil || !slices.Equal(got, cases[0].Tokens[:stop]) {
		t.Errorf("with token %v as the end: %v, %v", c.end, got, err)
	}
}

// TestFormsOfExportsAgree: graphs with and without position_ids, with and
// without a cache, and with their weights in another file.
func TestFormsOfExportsAgree(t *testing.T) {
	rows := []Continuation{{[]int32{5, 6, 7}, []int32{8, 9}}, {[]int32{5, 6, 7, 8, 9, 10, 3}, []int32{8, 9, 33}}, {[]int32{5}, []int32{8}}, {[]int32{5}, []int32{9, 4}}}
	var scores []float64
	var answer []int32
	for name, m := range languagetest.ToyForms() {
		dir := t.TempDir()
		m.Write(t, dir)
		separateWeights(t, filepath.Join(dir, "model.onnx"))
		c := openCausalTest(t, dir, nil)
		if c.cached != m.Cache || c.positions != m.Positions {
			t.Errorf("%s: opened as cache %v, positions %v", name, c.cached, c.positions)
		}
		got, err := c.LogProbabilities(context.Background(), rows)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.generate(context.Background(), rows[1].Prompt, 20)
		if err != nil {
			t.Fatal(err)
		}
		if scores == nil {
			scores, answer = got, text
		}
		for i := range got {
			if math.Abs(got[i]-scores[i]) > 1e-5 {
				t.Errorf("%s: row %d is %v, of another form %v", name, i, got[i], scores[i])
			}
		}
		if !slices.Equal(text, answer) || len(text) != 20 {
			t.Errorf("%s: answer %v, of another form %v", name, text, answer)
		}
	}
}

// TestHalfPrecisionExports: their logits are read, and their cache stays empty.
func TestHalfPrecisionExports(t *testing.T) {
	rows := []Continuation{{[]int32{5, 6, 7}, []int32{8, 9}}, {[]int32{5}, []int32{8}}}
	var scores [2][]float64
	for i, half := range []bool{false, true} {
		dir := t.TempDir()
		languagetest.Toy{Cache: true, Half: half}.Write(t, dir)
		c := openCausalTest(t, dir, nil)
		if c.cached == half {
			t.Errorf("half %v: the cache is used: %v", half, c.cached)
		}
		var err error
		if scores[i], err = c.LogProbabilities(context.Background(), rows); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.generate(context.Background(), rows[0].Prompt, 5); err != nil || len(answer) != 5 {
			t.Errorf("half %v: answer %v, %v", half, answer, err)
		}
	}
	for i, v := range scores[1] {
		if d := math.Abs(v - scores[0][i]); d == 0 || d > 0.05 {
			t.Errorf("row %d: %v and, in half precision, %v", i, scores[0][i], v)
		}
	}
}

// separateWeights moves the weights of a graph into another file.
func separateWeights(t testing.TB, file string) {
	t.Helper()
	m, err := onnx.ReadFile(file)
	if err == nil {
		err = m.WriteExternal(file, 100)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnswersStopAtTheLimit fills the model's positions to the last.
func TestAnswersStopAtTheLimit(t *testing.T) {
	dir := t.TempDir()
	languagetest.Toy{Cache: true}.Write(t, dir)
	c := openCausalTest(t, dir, func(cfg *CausalSettings) { cfg.MaxLength = 12 })
	if got, err := c.generate(context.Background(), make([]int32, 9), 20); err != nil || len(got) != 3 {
		t.Errorf("%v, %v, want 3 tokens", got, err)
	}
	if _, err := c.generate(context.Background(), make([]int32, 12), 20); err == nil {
		t.Error("a prompt without room for an answer is taken")
	}
	if _, err := c.LogProbabilities(context.Background(), []Continuation{{make([]int32, 11), make([]int32, 2)}}); err == nil {
		t.Error("a row beyond the limit is scored")
	}
}

func TestLogProbabilityIsStable(t *testing.T) {
	if got := logProbability([]float32{3e4, 3e4 - 1, -3e38}, 1); math.Abs(got+1+math.Log1p(math.Exp(-1))) > 1e-12 {
		t.Errorf("got %v", got)
	}
}

func TestByLength(t *testing.T) {
	lengths := []int{5, 1, 9, 1, 4, 30}
	length := func(i int) int { return lengths[i] }
	for _, c := range []struct {
		tokens, rows int
		want         [][]int
	}{
		{100, 100, [][]int{{1, 3, 4, 0, 2}, {5}}},
		{10, 100, [][]int{{1, 3}, {4, 0}, {2}, {5}}},
		{100, 2, [][]int{{1, 3}, {4, 0}, {2, 5}}},
		{1, 1, [][]int{{1}, {3}, {4}, {0}, {2}, {5}}},
	} {
		if got := byLength(len(lengths), length, c.tokens, c.rows); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d tokens, %d rows: %v, want %v", c.tokens, c.rows, got, c.want)
		}
	}
	if got := byLength(0, length, 1, 1); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestCausalAnswers: an answer is the text of the likeliest tokens.
func TestCausalAnswers(t *testing.T) {
	ctx := context.Background()
	c := openCausalTest(t, realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random"), nil)
	talk := Conversation{{Role: "user", Content: "The river froze."}}
	prompt, err := c.Prompt(talk)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.generate(ctx, prompt, 12)
	if err != nil || len(ids) != 12 {
		t.Fatalf("%d tokens, %v", len(ids), err)
	}
	if text, err := c.Answer(ctx, talk, 12); err != nil || text != c.tokens.Decode(ids) {
		t.Errorf("%q, %v, want %q", text, err, c.tokens.Decode(ids))
	}
}
