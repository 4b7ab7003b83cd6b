package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pipe/onnx/ort"
)

// A table on which it pays to look at the answers of small: they are right where they are JSON. The answers of large are right.
const (
	lookedTable = `
outcomes:
  file: answers.csv
  columns: {id: question, expert: model, correct: right, observed: {json: json}}
fees: {experts: {small: 0.02, large: 0.2}}
features: [{text: {column: text, encoder: small}, file: questions.csv, id: question}]
`
	lookedGateway = `
policies: {paths: [trained/cascade-lambda1.onnx], encoders: {cascade-lambda1: small}}
log: {folder: log}
gateway:
  experts:
    small: {base_url: "%[1]s/v1", model: small}
    large: {base_url: "%[1]s/v1", model: large}
`
	lookedLoop = "log: log\nstate: loop\ndeployed: trained/%s\ncandidate: %s\n"
)

// lookedAnswers are questions and what two models answered.
func lookedAnswers() (questions, answers string) {
	var q, a strings.Builder
	q.WriteString("question,text\n")
	a.WriteString("question,model,right,json\n")
	for n := range 800 {
		right := n * 7 % 10 / 4 // four of ten are wrong
		fmt.Fprintf(&q, "%d,%s\n", n, spelled(n))
		fmt.Fprintf(&a, "%d,small,%d,%d\n%d,large,1,1\n", n, min(right, 1), min(right, 1), n)
	}
	return q.String(), a.String()
}

// spelled is a number in letters, which the small encoder tells apart.
func spelled(n int) string {
	return strings.Map(func(digit rune) rune { return 'a' + digit - '0' }, fmt.Sprintf("%o", n))
}

// talker is a service with OpenAI's API: small answers JSON to what it can, and large does always.
func talker(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := fmt.Sprintf(`{"by":%q}`, in.Model)
	if in.Model == "small" && strings.Contains(in.Messages[0].Content, "hard") {
		text = "I am not sure."
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, in.Model, text)
}

// TestServeCascade imports a table with facts, trains a cascade on it, and serves that: it accepts what is JSON, and asks the other model
// else. Its log is counted, and nothing is learned from it, and no program that needs a policy that decides once takes the file.
func TestServeCascade(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(talker))
	t.Cleanup(service.Close)
	folder := samplesIn(t)
	questions, answers := lookedAnswers()
	write(t, folder, map[string]string{
		"questions.csv": questions, "answers.csv": answers, "outcomes.yaml": lookedTable, "live.yaml": fmt.Sprintf(lookedLoop, "cascade-lambda1.onnx", "next.onnx"),
		"next.yaml":  fmt.Sprintf(lookedLoop, "auto-lambda1.onnx", "trained/cascade-lambda1.onnx"),
		"train.yaml": "train: {methods: [], auto: {networks: []}}\n", "serve.yaml": fmt.Sprintf(lookedGateway, service.URL),
	})
	runIn(t, folder, "import", "--config", "outcomes.yaml", "--out", "costs.parquet")
	if out := runIn(t, folder, "train", "--in", "costs.parquet", "--config", "train.yaml", "--cascade", "--out", "trained"); !strings.Contains(out, "it is exported") {
		t.Fatal(out)
	}
	s := serveIn(t, folder, "--config", "serve.yaml")
	for text, stages := range map[string]string{"an easy one": "small/none", "a hard one": "small/none,large/none"} {
		got, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"pipe","messages":[{"role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusOK || got.Header.Get("X-Pipe-Stages") != stages {
			t.Errorf("%s: %d %v", text, got.StatusCode, got.Header)
		}
		s.posts(t, "/v1/outcomes", map[string]any{"id": got.Header.Get("X-Pipe-Decision"), "correct": true})
	}
	for seen, pair := range map[float64]string{0: "large/none", 1: "small/none"} {
		next := s.posts(t, "/v1/decide", map[string]any{"text": "an easy one", "executed": map[string]any{"small/none": map[string]any{"json": seen}}})
		if next["pair"] != pair || next["accept"] != (seen == 1) {
			t.Errorf("json %v: %v", seen, next)
		}
	}
	s.stops(t)
	if out := runIn(t, folder, "inspect", "log"); !strings.Contains(out, "2 decisions that looked at answers") || !strings.Contains(out, "3 pairs for these") {
		t.Error(out)
	}
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	for command, want := range map[string]string{
		"import --log log --partial partial.parquet": "2 more are decisions of cascades",
		"learn --config live.yaml":                   "the file is a cascade",
		"learn --config next.yaml":                   "the file is a cascade",
		"monitor --policy trained/cascade-lambda1.onnx --baseline costs.parquet --in log": "the file is a cascade",
		"ope --log log --policy trained/cascade-lambda1.onnx":                             "the file is a cascade",
	} {
		p := start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), found) }, strings.Fields(command)...)
		if err := <-p.ended; err == nil || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("pipe %s: %v\n%s", command, err, p.stderr.String())
		}
	}
}
