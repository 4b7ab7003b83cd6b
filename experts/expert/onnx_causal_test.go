package expert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/language"
	"pipe/experts/language/languagetest"
	"pipe/featurize/tokenizer"
	"pipe/onnx"
)

// claims are instances with passages of several lengths under three levels of
// advice: none, the best passage, all of them.
func claims(n int) (batch []part.Instance, shown [][]part.AdvicePayload) {
	shown = make([][]part.AdvicePayload, 3)
	for i := range n {
		text := fmt.Sprintf("Claim %d: the %s lake froze.", i, strings.Repeat("old ", i%4))
		batch = append(batch, part.Instance{Entry: part.Entry{ID: fmt.Sprint("c", i)}, Text: text})
		var found []part.Passage
		for p := range 1 + i%3 {
			found = append(found, part.Passage{Page: fmt.Sprint("Lake ", p), Text: strings.Repeat(fmt.Sprintf("It was cold in year %d. ", i+p), 1+p)})
		}
		for k, passages := range [][]part.Passage{nil, found[:1], found} {
			shown[k] = append(shown[k], part.AdvicePayload{Passages: passages})
		}
	}
	return batch, shown
}

// newCausalTest makes an expert of a toy.
func newCausalTest(t *testing.T, m languagetest.Toy, settings map[string]any) *causalExpert {
	t.Helper()
	dir := t.TempDir()
	m.Write(t, dir)
	settings["model"] = dir
	e, err := newCausalExpert(context.Background(), textSetup(t), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e.(*causalExpert)
}

func TestCausalExpertKeepsTheLaws(t *testing.T) {
	batch, shown := claims(7)
	for _, settings := range []map[string]any{{}, {"batch_tokens": 1, "normalise": "mean"}, {"no_thinking": true, "max_length": 700}} {
		parttest.ExpertLaws(t, newCausalTest(t, languagetest.Toy{Positions: true}, settings), batch, shown)
	}
}

// TestCausalExpertChoosesTheLikeliestLabel recomputes an answer from scores.
func TestCausalExpertChoosesTheLikeliestLabel(t *testing.T) {
	ctx := context.Background()
	batch, shown := claims(5)
	for _, normalise := range []string{"sum", "mean"} {
		e := newCausalTest(t, languagetest.Toy{}, map[string]any{"normalise": normalise})
		got, err := e.Predict(ctx, batch, shown)
		if err != nil {
			t.Fatal(err)
		}
		for k := range shown {
			for n := range batch {
				prompt, err := e.Prompt(language.ClaimConversation(e.labels, &batch[n], shown[k][n]))
				if err != nil {
					t.Fatal(err)
				}
				var scores, sums []float64
				for _, l := range []string{"SUPPORTS", "REFUTES", "NOT_ENOUGH_INFO"} {
					next := e.Encode(l)
					p, err := e.LogProbabilities(ctx, []language.Continuation{{Prompt: prompt, Next: next}})
					if err != nil {
						t.Fatal(err)
					}
					sums = append(sums, p[0])
					if normalise == "mean" {
						p[0] /= float64(len(next))
					}
					scores = append(scores, p[0])
				}
				best := slices.Index(scores, slices.Max(scores))
				if seen := got[k][n].Seen.LogProb; math.Abs(seen-sums[best]) > 1e-3 {
					t.Errorf("%s, level %d, claim %d: the log-probability is %v, not %v", normalise, k, n, seen, sums[best])
				}
				odds := math.Log(float64(got[k][n].Probabilities[0] / got[k][n].Probabilities[1]))
				if got[k][n].Label != e.labels[best] || math.Abs(odds-(scores[0]-scores[1])) > 1e-3 {
					t.Errorf("%s, level %d, claim %d: %+v for scores %v", normalise, k, n, got[k][n], scores)
				}
			}
		}
	}
}

// TestLongPromptsLoseTheEndOfTheirPassages: the instruction, the claim and the
// first words stay, and the prompt is as long as can be.
func TestLongPromptsLoseTheEndOfTheirPassages(t *testing.T) {
	e := newCausalTest(t, languagetest.Toy{}, map[string]any{"max_length": 800})
	in := &part.Instance{Entry: part.Entry{ID: "c"}, Text: "The lake froze."}
	shown := part.AdvicePayload{Passages: []part.Passage{{Page: "First", Text: strings.Repeat("cold ", 20) + "winter"}, {Page: "Second", Text: strings.Repeat("ice ", 300)}, {Page: "Third", Text: "never"}}}
	ids, err := e.fitting(in, shown)
	if err != nil {
		t.Fatal(err)
	}
	if room := e.Limit() - e.spare - len(ids); room < 0 || room >= len("ice ") {
		t.Errorf("%d tokens are left", room)
	}
	tokens, err := tokenizer.Load(filepath.Join(filepath.Dir(e.File()), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	bare, err := e.Prompt(language.ClaimConversation(e.labels, in, part.AdvicePayload{}))
	if err != nil {
		t.Fatal(err)
	}
	text, whole := tokens.Decode(ids), tokens.Decode(bare)
	_, instruction, _ := strings.Cut(whole, "Reply with")
	instruction, _, _ = strings.Cut(instruction, "\n")
	for _, want := range []string{"The lake froze.", "cold winter\n", "Second: ice ice", instruction} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lost %q: %s", want, text)
		}
	}
	if strings.Contains(text, "Third") {
		t.Errorf("the prompt kept the last passage: %s", text)
	}
	e = newCausalTest(t, languagetest.Toy{}, map[string]any{"max_length": 100})
	if _, err := e.fitting(in, shown); err == nil || !strings.Contains(err.Error(), "alone exceed max_length, 100 tokens") {
		t.Errorf("got %v", err)
	}
}

func TestLongestFitting(t *testing.T) {
	passages := []part.Passage{{Page: "a", Text: "one two"}, {Page: "b", Text: "three  four five"}}
	for most, want := range []string{"", "a:one", "a:one two", "a:one two b:three", "a:one two b:three four"} {
		got, ok := longestFitting(passages, func(p []part.Passage) bool { return len(strings.Fields(texts(p))) <= most })
		if joined := texts(got); !ok || joined != strings.TrimSpace(want) {
			t.Errorf("%d words: %q, %v, want %q", most, joined, ok, want)
		}
	}
	if _, ok := longestFitting(passages, func([]part.Passage) bool { return false }); ok {
		t.Error("nothing fits and something is found")
	}
}

func texts(passages []part.Passage) string {
	var list []string
	for _, p := range passages {
		list = append(list, p.Page+":"+p.Text)
	}
	return strings.Join(list, " ")
}

// TestLanguageModelsThatDoNotFit: every misfit is an error that names the file
// and what is wrong with it.
func TestLanguageModelsThatDoNotFit(t *testing.T) {
	config := func(key string, v any) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			var c map[string]any
			languagetest.ReadJSON(t, filepath.Join(dir, "config.json"), &c)
			c[key] = v
			languagetest.WriteJSON(t, filepath.Join(dir, "config.json"), c)
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	rename := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { renameValue(t, filepath.Join(dir, "model.onnx"), from, to) }
	}
	for name, c := range map[string]struct {
		change   func(t *testing.T, dir string)
		settings map[string]any
		want     string
	}{
		"no folder":    {nil, map[string]any{"model": "org/gone"}, `find model "org/gone": not found`},
		"no graph":     {remove("model.onnx"), nil, "file onnx/model.onnx is missing"},
		"named graph":  {nil, map[string]any{"file": "q4.onnx"}, "file q4.onnx is missing"},
		"no config":    {remove("config.json"), nil, "file config.json is missing"},
		"no tokenizer": {remove("tokenizer.json"), nil, "file tokenizer.json is missing"},
		"torn config": {func(t *testing.T, dir string) {
			parttest.Write(t, filepath.Join(dir, "config.json"), `{"vocab_size": 2`)
		}, nil, `config.json": unexpected end`},
		"config of a list": {func(t *testing.T, dir string) { parttest.Write(t, filepath.Join(dir, "config.json"), `[]`) }, nil, `config.json": a JSON object is expected, not a JSON array`},
		"torn tokenizer":   {func(t *testing.T, dir string) { parttest.Write(t, filepath.Join(dir, "tokenizer.json"), `{}`) }, nil, `tokenizer.json": `},
		"torn graph":       {func(t *testing.T, dir string) { parttest.Write(t, filepath.Join(dir, "model.onnx"), "no graph") }, nil, `model.onnx": parse model`},
		"small vocabulary": {config("vocab_size", 200), nil, "has ids up to 258, but the model knows 200 tokens (vocab_size of config.json): it is another model's tokenizer"},
		"other tokenizer":  {otherTokenizer, nil, "has ids up to 260, but the model knows 260 tokens (the last axis of its logits)"},
		"turns": {func(t *testing.T, dir string) {
			languagetest.WriteJSON(t, filepath.Join(dir, "tokenizer.json"), languagetest.ByteTokenizer("<|endoftext|>", "<a>", "<b>"))
		}, nil, `tokenizer.json": has no token <|im_start|>, which the template uses to mark turns`},
		"template":  {config("model_type", "gpt2"), nil, `template: not set, and models of type "gpt2" have no default`},
		"length":    {nil, map[string]any{"max_length": 901}, "max_length is 901; the model takes up to 900 tokens"},
		"tokens":    {nil, map[string]any{"batch_tokens": 0}, "batch_tokens is 0"},
		"normalise": {nil, map[string]any{"normalise": "max"}, `normalise is "max"; known are sum, mean`},
		"input":     {rename("attention_mask", "pixels"), nil, `model.onnx": has an unknown input "pixels"; the inputs of a causal language model are input_ids`},
		"no ids":    {rename("input_ids", "position_ids"), nil, `has no input "input_ids"`},
		"output":    {rename("logits", "scores"), nil, `model.onnx": has no output "logits"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			languagetest.Toy{}.Write(t, dir)
			settings := map[string]any{"model": dir}
			for k, v := range c.settings {
				settings[k] = v
			}
			if c.change != nil {
				c.change(t, dir)
			}
			_, err := newCausalExpert(context.Background(), textSetup(t), settings)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			var missing *language.MissingFileError
			if errors.As(err, &missing) && missing.Hint() == "" {
				t.Error("no hint")
			}
		})
	}
}

// otherTokenizer has two more tokens, which config.json promises, too.
func otherTokenizer(t *testing.T, dir string) {
	languagetest.WriteJSON(t, filepath.Join(dir, "tokenizer.json"), languagetest.ByteTokenizer("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<a>", "<b>"))
	var c map[string]any
	languagetest.ReadJSON(t, filepath.Join(dir, "config.json"), &c)
	c["vocab_size"] = 300
	languagetest.WriteJSON(t, filepath.Join(dir, "config.json"), c)
}

// renameValue gives an input or output of a graph another name.
func renameValue(t *testing.T, file, from, to string) {
	t.Helper()
	m, err := onnx.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := m.Proto.GetGraph()
	for _, v := range slices.Concat(g.GetInput(), g.GetOutput()) {
		if v.GetName() == from {
			*v.Name = to
		}
	}
	for _, n := range g.GetNode() {
		for _, list := range [][]string{n.Input, n.Output} {
			for i := range list {
				if list[i] == from {
					list[i] = to
				}
			}
		}
	}
	if err := m.WriteFile(file); err != nil {
		t.Fatal(err)
	}
}

// TestLogitsThatAreNoNumbers names the model and the place.
func TestLogitsThatAreNoNumbers(t *testing.T) {
	batch, shown := claims(2)
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		e := newCausalTest(t, languagetest.Toy{Bad: bad}, map[string]any{})
		_, err := e.Predict(context.Background(), batch, shown)
		if err == nil || !strings.Contains(err.Error(), `model.onnx": logit `) {
			t.Errorf("got %v", err)
		}
	}
}

func TestInstancesWithoutText(t *testing.T) {
	batch, shown := claims(2)
	batch[1].Text = ""
	e := newCausalTest(t, languagetest.Toy{}, map[string]any{})
	if _, err := e.Predict(context.Background(), batch, shown); err == nil || !strings.Contains(err.Error(), `instance "c1" has no text`) {
		t.Errorf("got %v", err)
	}
}
