package builder

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/parttest"

	"pipe/costs"
	"pipe/onnx"
)

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
	if meta["pipe.expert"] != "embedding" || meta["pipe.training"] != tensor.Actions.Digests[`model training of expert "net"`] || meta["pipe.labels"] != `["SUPPORTS","REFUTES","NOT ENOUGH INFO"]` {
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
		o := w.options(t)
		p, _, err := prepare(t.Context(), &w.cfg, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		digests[name] = p.Inputs[`model training of expert "net"`]
		if err := p.Close(); err != nil {
			t.Error(err)
		}
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
		"encoder":       {settings("encoder", ""), "encoder: not set"},
		"no train":      {settings("train", ""), "train: not set"},
		"no pages":      {settings("pages", ""), "index, pages, opensearch"},
		"share":         {settings("share", 1), "share is 1"},
		"draws":         {settings("draws", 0), "draws is 0"},
		"distractors":   {settings("distractors", "x"), `distractors is "x"; known are pages, sentences, both`},
		"unsettled":     {settings("unsettled", "x"), `unsettled: unknown label "x"`},
		"threshold":     {settings("threshold", 0.4), "threshold needs exactly two labels; the configuration has 3"},
		"column":        {settings("claim", "x"), "train.csv"},
		"label":         {row("a,MAYBE,b"), `train.csv": row 2: column label: unknown label "MAYBE"`},
		"no claim":      {row(" ,SUPPORTS,b"), `row 2: column claim: is empty`},
		"no sentence":   {row("a,SUPPORTS,"), `row 2: column sentence: is empty, but the label is "SUPPORTS"`},
		"sentence":      {row("a,NOT ENOUGH INFO,b"), `column sentence: is not empty, but no sentence settles a claim with the label "NOT ENOUGH INFO"`},
		"too few":       {row("thing0 is red.,SUPPORTS,b"), "train: without the claims of the instances, 0 claims"},
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
