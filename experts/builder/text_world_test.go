package builder

import (
	"fmt"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
)

var claimLabels = parttest.ClaimLabels()

// useWords makes every build of the world encode texts with e.
func (w *world) useWords(e *parttest.Words) *parttest.Words {
	w.words = e
	return e
}

// newTextWorld writes n claims about the colours of things, and pages that tell
// whether two of three are right. Features are the vectors of the claims, one
// expert has answered them all.
func newTextWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig(), words: &parttest.Words{}}
	answers := &strings.Builder{}
	fmt.Fprintln(answers, "id,prediction")
	for i := range n {
		fmt.Fprintf(answers, "%d,%s\n", i, claimLabels[i%2])
	}
	parttest.Claims(t, w.dir, n)
	w.write(t, "answers.csv", answers.String())
	w.cfg.Instances = part.Part{Kind: "fever", Settings: map[string]any{"file": "claims.jsonl"}}
	w.cfg.Labels = claimLabels
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []part.ExpertConfig{{Name: "known", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "prediction"}}}
	w.cfg.Features = []part.Part{{Kind: "text", Settings: map[string]any{"encoder": "words"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 16, 8, 2
	return w
}

// withEmbedding adds two levels of passages, n claims about other things to learn
// from, and an expert that does.
func (w *world) withEmbedding(t testing.TB, n int) *world {
	t.Helper()
	parttest.TrainingClaims(t, w.dir, n)
	for _, top := range []int{1, 3} {
		w.cfg.Advice = append(w.cfg.Advice, part.AdviceConfig{
			Name: fmt.Sprintf("top-%d", top), Fee: 0.1, Kind: "passages", Settings: map[string]any{"pages": "pages.jsonl", "top": top},
		})
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "net", Kind: "embedding", Settings: map[string]any{
		"encoder": "words", "train": "train.csv", "pages": "pages.jsonl", "hidden": []int{16}, "epochs": 20, "batch": 64, "dropout": 0, "learning_rate": 0.01,
	}}}
	return w
}
