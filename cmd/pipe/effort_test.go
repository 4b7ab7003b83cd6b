package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
)

// thinker is a chat model whose answers and tokens depend on the effort. Questions are easy or hard; with a low effort only the
// easy ones are answered right. The effort is in reasoning_effort.
type thinker struct{}

// thoughts are the tokens of an answer by effort. Without an effort the model thinks long, and is no better than with a low one.
var thoughts = map[string]int{"": 300, "low": 20, "high": 1000}

func (thinker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Effort   string `json:"reasoning_effort"`
		Messages []struct{ Content string }
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &asked) != nil || len(asked.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := asked.Messages[len(asked.Messages)-1].Content
	right := strings.Contains(text, "odd one")
	if strings.Contains(text, "prove") && asked.Effort != "high" {
		right = !right
	}
	answer := map[bool]string{true: "yes", false: "no"}[right]
	n := thoughts[asked.Effort]
	fmt.Fprintf(w, `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d}}}`,
		answer, n, 50+n, n-2)
}

// hardness returns a question about row i. Every third is hard.
func hardness(i int) (question, label string, hard bool) {
	label = map[bool]string{true: "yes", false: "no"}[i%2 == 1]
	kind := map[bool]string{true: "an odd one", false: "an even one"}[i%2 == 1]
	if hard = i%3 == 0; hard {
		return fmt.Sprintf("Can you prove with a theorem and a lemma that the integral number %d is %s?", i, kind), label, true
	}
	return fmt.Sprintf("Tell me please whether the plain number %d is %s.", i, kind), label, false
}

// TestEffortIsLearnedAndServed goes from questions to a server that picks the effort for each: pipe costs asks one model under three
// efforts, the fees of which are those of its tokens, and the policy that is trained on them serves chat requests. New hard
// questions get the high effort, easy ones the low one. The log has the fees of the tokens.
func TestEffortIsLearnedAndServed(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(thinker{})
	defer service.Close()
	folder := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,label,question\n")
	for i := range 300 {
		question, label, _ := hardness(i)
		fmt.Fprintf(&rows, "%d,%s,%s\n", i, label, question)
	}
	const efforts = "\n    - {name: none, kind: none}\n    - {name: low, kind: fields, effort: low}\n    - {name: high, kind: fields, effort: high}\n"
	write(t, folder, map[string]string{
		"rows.csv": rows.String(),
		"costs.yaml": `costs:
  instances: {kind: table, file: rows.csv, text: question}
  split: {validation: 0.3}
  advice:` + efforts + `  experts:
    - {name: model, kind: endpoint, base_url: "` + service.URL + `/v1", model: m, prompt: "{{.Text}}", temperature: null, price: {prompt: 1, completion: 100, currency: USD}, fee_scale: 1}
  features:
    - {kind: text, encoder: encoder.onnx}
`,
		"serve.yaml": `policies: {paths: [policies]}
log: {folder: log}
gateway:
  experts:
    model: {base_url: "` + service.URL + `/v1", model: m, price: {in: 1, cached: 1, out: 100}, efforts: [low, high]}
  advice:
    low: {kind: fields, effort: low}
    high: {kind: fields, effort: high}
`,
		"wrong.yaml": `policies: {paths: [policies]}
gateway:
  experts:
    model: {base_url: "` + service.URL + `/v1", model: m, efforts: [low, medium]}
  advice:
    low: {kind: fields, effort: low}
    high: {kind: fields, effort: high}
`,
	})
	runIn(t, folder, "featurize", "--text", "question", "--in", "rows.csv", "--dim", "8", "--out", "encoder.onnx")
	runIn(t, folder, "costs", "--config", "costs.yaml", "--out", "costs.parquet")
	tensor := readTensor(t, folder, "costs.parquet")
	for i := range tensor.IDs {
		_, _, hard := hardness(i)
		wrong := map[bool]float32{true: 1, false: 0}[hard]
		for k, want := range []struct{ loss, out float32 }{{wrong, 300}, {wrong, 20}, {0, 1000}} {
			cell, fee := 3*i+k, (50+100*want.out)/1e6
			if diff := tensor.Fee[cell] - fee; tensor.Loss[cell] != want.loss || tensor.Usage[costs.TokensOut][cell] != want.out || diff > 1e-6 || diff < -1e-6 {
				t.Fatalf("row %d under %s: loss %v, fee %v, want %+v and %v", i, tensor.Actions.Advice[k].Name, tensor.Loss[cell], tensor.Fee[cell], want, fee)
			}
		}
	}
	runIn(t, folder, "train", "--in", "costs.parquet", "--lambda", "1", "--out", "trained")
	runIn(t, folder, "convert", "encoder.onnx", "--merge", "trained/auto-lambda1.onnx", "--out", filepath.Join("policies", "efforts.onnx"))
	if p := start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), ort.EnvLibrary+"="+runtimeLibrary(t)) }, "serve", "--config", "wrong.yaml", "--check"); <-p.ended == nil || !strings.Contains(p.stderr.String(), "1 problem") {
		t.Errorf("an effort that the expert lacks: %s", p.stderr.String())
	}
	s := serveIn(t, folder, "--config", "serve.yaml")
	const asked = 60
	right := 0
	for i := 1000; i < 1000+asked; i++ {
		question, label, hard := hardness(i)
		answer := s.posts(t, "/v1/chat/completions", map[string]any{"model": "pipe", "messages": []any{map[string]any{"role": "user", "content": question}}})
		text, _ := json.Marshal(answer["choices"])
		usage := answer["usage"].(map[string]any)["completion_tokens"].(float64)
		if want := map[bool]float64{true: 1000, false: 20}[hard]; usage != want {
			t.Errorf("%s: %v tokens, want %v", question, usage, want)
		}
		if strings.Contains(string(text), fmt.Sprintf(`"content":%q`, label)) {
			right++
		}
	}
	s.stops(t)
	log, err := decisionlog.Read(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var paid float64
	for r, err := range log.Decisions() {
		if err != nil || !r.FeeKnown {
			t.Fatalf("%+v, %v", r, err)
		}
		paid += r.Fee
	}
	always := float64(asked) * (50 + 100*1000) / 1e6
	if want := float64(asked*50+asked/3*100*1000+asked*2/3*100*20) / 1e6; right != asked || paid < want*0.999 || paid > want*1.001 {
		t.Errorf("%d of %d right for %v, want %v; always with a high effort: %v", right, asked, paid, want, always)
	}
}
