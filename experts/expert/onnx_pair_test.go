package expert

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/language/languagetest"
	"pipe/featurize/tokenizer"
	"pipe/internal/realdata"
)

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

func TestPairClassifierKeepsTheLaws(t *testing.T) {
	batch, shown := claims(7)
	for _, settings := range []map[string]any{{}, {"batch_tokens": 1}, {"max_length": 60, "titles": false}} {
		parttest.ExpertLaws(t, newPairTest(t, settings), batch, shown)
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
			pair, err := e.Encode(e.premise(shown[k][n].Passages), in.Text)
			if err != nil {
				t.Fatal(err)
			}
			row, err := e.Logits(ctx, []tokenizer.Encoding{pair})
			if err != nil {
				t.Fatal(err)
			}
			if want := labels[Argmax(row)]; got[k][n].Label != want {
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
		settings := map[string]any{"model": languagetest.WritePairFolder(t, c.classes...), "label_names": c.names}
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
		`model.onnx": has an unknown input "segments"; the inputs of a pair classifier are input_ids`: {"token_type_ids", "segments", ""},
		`model.onnx": has no input "input_ids"`:                                                       {"input_ids", "token_type_ids", ""},
		`model.onnx": has no output "logits"; name the one with the scores`:                           {"logits", "scores", ""},
		`model.onnx": output "logits" is float32 of shape [batch 2]; it must be float32 [batch, 3]`:   {"", "", "two classes"},
	} {
		dir := languagetest.WritePairFolder(t, "entailment", "neutral", "contradiction")
		if c.output != "" {
			languagetest.WritePairGraph(t, dir, 1, -1)
		}
		renameValue(t, filepath.Join(dir, "model.onnx"), c.from, c.to)
		if _, err := newPairClassifier(context.Background(), textSetup(t), map[string]any{"model": dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// FuzzClassLabels: whatever config.json calls the classes, every label has one class, or there is an error.
func FuzzClassLabels(f *testing.F) {
	f.Add([]byte(`{"0": "contradiction", "1": "entailment", "2": "neutral"}`))
	f.Add([]byte(`{"0": "neutral", "1": "NEUTRAL", "3": "entailment"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var classes map[string]string
		if json.Unmarshal(text, &classes) != nil {
			return
		}
		labels := []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
		if list, err := classLabels(classes, nil, labels); err == nil && !slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(labels))) {
			t.Fatal(list)
		}
	})
}
