package builder

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/experts/language/languagetest"
	"pipe/internal/storage"
)

// TestCausalExpertInABuild runs, in parallel and one after the other, and
// answers in the same bytes.
func TestCausalExpertInABuild(t *testing.T) {
	w := &world{dir: t.TempDir()}
	languagetest.Toy{Cache: true}.Write(t, w.dir)
	var lines strings.Builder
	for i := range 23 {
		claim := fmt.Sprintf("Claim %d: the %s lake froze.", i, strings.Repeat("old ", i%4))
		fmt.Fprintf(&lines, `{"id": %d, "label": %q, "claim": %q, "verifiable": "VERIFIABLE", "evidence": []}`+"\n", i, []string{"SUPPORTS", "REFUTES"}[i%2], claim)
	}
	w.write(t, "claims.jsonl", lines.String())
	w.cfg = part.DefaultConfig()
	w.cfg.Labels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
	w.cfg.Instances = part.Part{Kind: "fever", Settings: map[string]any{"file": "claims.jsonl"}}
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []part.ExpertConfig{{Name: "model", Kind: "onnx_causal", Settings: map[string]any{"model": ".", "batch_tokens": 2000}}}
	w.cfg.Features = []part.Part{{Kind: "expert", Settings: map[string]any{"expert": "model"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Observe = 6, 4, observe.Names()
	var first string
	for _, w.cfg.Workers = range []int{1, 3} {
		if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t), Restart: true}); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = readBytes(t, w.out())
		}
	}
	if readBytes(t, w.out()) != first {
		t.Error("the bytes depend on the number of workers")
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The confidence divides by the probabilities of the labels, which are less than 1 together.
	sure, log := tensor.Fact(observe.Confidence), tensor.Fact(observe.LogProb)
	for n := range tensor.Len() {
		if most := slices.Max(tensor.Row(n)); sure.Data[n] != most || !(math.Exp(float64(log.Data[n])) <= float64(most)) {
			t.Errorf("row %d: confidence %v, log-probability %v of probabilities %v", n, sure.Data[n], log.Data[n], tensor.Row(n))
		}
	}
	for _, name := range []string{"model", "model tokenizer", "model configuration"} {
		if tensor.Actions.Digests[name+` of expert "model"`] == "" {
			t.Errorf("no digest of the %s: %v", name, tensor.Actions.Digests)
		}
	}
}
