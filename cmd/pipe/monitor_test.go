package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/pipeline/exitcode"
)

// A policy with its encoder in front is watched on texts as the policy with the encoder beside it is, and on features.
func TestMonitorMerged(t *testing.T) {
	inputsFor(t)
	random := rand.New(rand.NewPCG(1, 1))
	baseline := &costs.Tensor{Dim: hftest.Hidden, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search"}},
	}}
	for n := range 60 {
		baseline.IDs, baseline.Splits = append(baseline.IDs, fmt.Sprint(n)), append(baseline.Splits, costs.Val)
		for range hftest.Hidden {
			baseline.Features = append(baseline.Features, float32(random.NormFloat64()))
		}
		baseline.Loss = append(baseline.Loss, 0, 1, 1, 0)
	}
	if err := costs.Write(t.Context(), storage.File("vectors.parquet"), baseline); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("claims.jsonl", []byte(`{"claim": "a b", "expert": "small", "advice": "none", "loss": 0}`+"\n"+`{"claim": "c"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	call := func(args string, want int) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr); code != want {
			t.Fatalf("%s: exit code %d, want %d: %s", args, code, want, stderr.String())
		}
		return strings.NewReplacer("merged.onnx", "P", "texts.onnx", "P").Replace(stdout.String())
	}
	call("convert small --merge texts.onnx --out merged.onnx", exitcode.OK)
	merged := call("monitor --policy merged.onnx --baseline vectors.parquet --in claims.jsonl --text claim --json", exitcode.OK)
	if beside := call("monitor --policy texts.onnx --encoder small --baseline vectors.parquet --in claims.jsonl --text claim --json", exitcode.OK); merged != beside {
		t.Errorf("merged:\n%s\nbeside:\n%s", merged, beside)
	}
	if !strings.Contains(merged, `"known": 1`) || !strings.Contains(merged, `"rows": 2`) {
		t.Error(merged)
	}
	call("monitor --policy merged.onnx --baseline vectors.parquet --in vectors.parquet", exitcode.OK)
	call("monitor --policy merged.onnx --baseline vectors.parquet --in claims.jsonl --image claim", exitcode.Usage)
	call("monitor --policy merged.onnx --baseline table.parquet --in claims.jsonl --text claim", exitcode.BadData)
}
