package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
)

// runIn runs the program in a folder and returns what it printed.
func runIn(t *testing.T, folder string, args ...string) string {
	t.Helper()
	var out strings.Builder
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	p := start(t, folder, func(c *exec.Cmd) { c.Stdout, c.Env = &out, append(os.Environ(), found) }, args...)
	if err := <-p.ended; err != nil {
		t.Fatalf("pipe %s: %v\n%s", strings.Join(args, " "), err, p.stderr.String())
	}
	return out.String()
}

// write writes files into a folder.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// stops ends a server and waits for it.
func (s *server) stops(t *testing.T) {
	t.Helper()
	s.send(t, syscall.SIGTERM)
	s.ends(t)
}

// posts sends an object to a server and returns the object that it answers.
func (s *server) posts(t *testing.T, path string, body any) map[string]any {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	code, text, err := ask(http.DefaultClient, s.url+path, string(b))
	var out map[string]any
	if err != nil || code != http.StatusOK || json.Unmarshal([]byte(text), &out) != nil {
		t.Fatal(path, code, text, err)
	}
	return out
}

// readTensor reads a tensor that may have unknown outcomes.
func readTensor(t *testing.T, folder, name string) *costs.Tensor {
	t.Helper()
	tensor, err := costs.Read(t.Context(), storage.File(filepath.Join(folder, name)), costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

// pairColumns are the columns of the tutorial's table by pair.
var pairColumns = map[string]int{"small/none": 5, "small/docs": 6, "large/none": 7, "large/docs": 8}

const tutorialTable = `
outcomes:
  file: may.csv
  columns: {id: request}
  wide:
    value: correct
    pairs:
      - {expert: small, advice: none, column: small}
      - {expert: small, advice: docs, column: small_docs}
      - {expert: large, advice: none, column: large}
      - {expert: large, advice: docs, column: large_docs}
fees:
  experts: {small: 0, large: 0.15}
  advice: {docs: 0.05}
features:
  - {id: request, columns: [length, code, setup]}
split: {validation: 0.25}
`

// TestCircleOfTheTutorial walks from the tutorial's table to a policy, its server and log, and back into the table.
func TestCircleOfTheTutorial(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	table, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial", "outcomes.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(table, []byte("\n"))
	rows, err := csv.NewReader(bytes.NewReader(bytes.Join(lines[301:361], nil))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, map[string]string{
		"may.csv": string(bytes.Join(lines[:301], nil)), "outcomes.yaml": tutorialTable,
		"train.yaml": "train: {methods: [], auto: {steps: 100, seeds: 1}}\n",
		"serve.yaml": "policies: {paths: [may]}\nlog: {folder: log}\ndecision: {seed: 3, explore: {epsilon: 0.4}}\n",
	})
	runIn(t, folder, "import", "--config", "outcomes.yaml", "--out", "costs.parquet")
	runIn(t, folder, "train", "--in", "costs.parquet", "--config", "train.yaml", "--out", "may")
	want := decidedRows(t, serveIn(t, folder, "--config", "serve.yaml"), rows)

	runIn(t, folder, "import", "--log", "log", "--partial", "partial.parquet")
	rest := readTensor(t, folder, "partial.parquet")
	if rest.Len() != len(rows) || rest.Meta[costs.NamesKey] != `["length","code","setup"]` || rest.Times == nil || rest.Fee != nil {
		t.Errorf("%d rows, metadata %v, times %v, fees %v", rest.Len(), rest.Meta, rest.Times, rest.Fee)
	}
	runIn(t, folder, "merge", "costs.parquet", "partial.parquet", "--out", "both.parquet", "--fill-time", "2026-05-31")
	runIn(t, folder, "merge", "costs.parquet", "partial.parquet", "--out", "timeless.parquet", "--drop", "time")
	both := readTensor(t, folder, "both.parquet")
	if both.Len() != 300+len(rows) || both.Times[0] == both.Times[300] || both.UnknownCells() != 3*len(rows) {
		t.Errorf("%d rows, %d unknown", both.Len(), both.UnknownCells())
	}
	for n := 300; n < both.Len(); n++ {
		for i, loss := range both.Losses(n) {
			if known, ok := want[both.IDs[n]][i]; ok && loss != known || !ok && loss == loss {
				t.Errorf("row %d, pair %d: loss %v", n, i, loss)
			}
		}
	}
	runIn(t, folder, "train", "--in", "both.parquet", "--config", "train.yaml", "--out", "june")
	_, info, err := policy.Read(filepath.Join(folder, "june", "auto-lambda1.onnx"))
	if err != nil || fmt.Sprint(info.Names) != "[length code setup]" || info.Info[policy.UntilKey] == "" {
		t.Error(info, err)
	}
}

// decidedRows has a server decide on rows of the tutorial's table, tells it the outcomes and stops it. It returns the losses
// by the id of the decision and the pair.
func decidedRows(t *testing.T, s *server, rows [][]string) map[string]map[int]float32 {
	t.Helper()
	losses := map[string]map[int]float32{}
	for _, row := range rows {
		var features []json.Number
		for _, column := range row[1:4] {
			features = append(features, json.Number(column))
		}
		d := s.posts(t, "/v1/decide", map[string]any{"features": features})["decisions"].([]any)[0].(map[string]any)
		correct := row[pairColumns[d["pair"].(string)]] == "1"
		s.posts(t, "/v1/outcomes", map[string]any{"id": d["id"], "correct": correct})
		losses[d["id"].(string)] = map[int]float32{int(d["index"].(float64)): 1}
		if correct {
			losses[d["id"].(string)][int(d["index"].(float64))] = 0
		}
	}
	s.stops(t)
	return losses
}

// A table with fees that were measured from tokens and time, and the gateway that serves its policy.
const (
	measuredTable = `
outcomes:
  file: answers.csv
  columns: {id: question, expert: model, correct: right, time: asked, tokens_in: in, tokens_out: out, latency: seconds}
fees: {prices: prices.yaml, latency: {unit: s, per_second: 0.001}, fee_scale: 20}
features: [{text: {column: text, encoder: small}, file: questions.csv, id: question}]
`
	measuredPrices  = "currency: USD\nmodels:\n  small: [{in: 10, out: 20}, {from: 2026-03-01, in: 1, out: 2}]\n  large: [{in: 10, out: 20}]\n"
	measuredGateway = `
policies: {paths: [served.onnx]}
log: {folder: log}
decision: {seed: 5, explore: {epsilon: 0.8}}
gateway:
  experts:
    small: {base_url: "%[1]s/v1", model: small, prices: prices.yaml}
    large: {base_url: "%[1]s/v1", model: large, prices: prices.yaml}
`
)

// measuredAnswers are 40 questions and what two models answered.
func measuredAnswers() (questions, answers string) {
	var q, a strings.Builder
	q.WriteString("question,text\n")
	a.WriteString("question,model,right,asked,in,out,seconds\n")
	for n := range 40 {
		fmt.Fprintf(&q, "%d,how is number %d\n", n, n)
		for i, model := range []string{"small", "large"} {
			fmt.Fprintf(&a, "%d,%s,%d,2026-02-%02dT00:00:00Z,%d,%d,0.5\n", n, model, (n+i)%2, 1+n%28, 1000+n, 100)
		}
	}
	return q.String(), a.String()
}

// answer is a service with OpenAI's API that does not state the usage of every second call.
func answer() http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		usage := ""
		if n++; n%2 == 0 {
			usage = `,"usage":{"prompt_tokens":3000,"completion_tokens":50,"total_tokens":3050}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]%s}`, in.Model, usage)
	}
}

// measuredFolder returns a folder with a table of measured fees, costs.parquet of it, the given files, of which train.yaml says how to
// train, and the trained policy served.onnx.
func measuredFolder(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = samplesIn(t)
	questions, answers := measuredAnswers()
	write(t, folder, map[string]string{"questions.csv": questions, "answers.csv": answers, "outcomes.yaml": measuredTable, "prices.yaml": measuredPrices})
	write(t, folder, files)
	runIn(t, folder, "import", "--config", "outcomes.yaml", "--out", "costs.parquet")
	runIn(t, folder, "train", "--in", "costs.parquet", "--config", "train.yaml", "--out", "first")
	runIn(t, folder, "convert", "small", "--merge", "first/auto-lambda1.onnx", "--out", "served.onnx")
	return folder
}

// TestCircleOfMeasuredFees walks the circle of a table with measured fees through the gateway. A call whose fee is not known
// is unknown in the tensor.
func TestCircleOfMeasuredFees(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCircleOfTheTutorial runs the same code in the short form")
	}
	t.Parallel()
	service := httptest.NewServer(answer())
	t.Cleanup(service.Close)
	folder := measuredFolder(t, map[string]string{
		"train.yaml": "train: {methods: [], auto: {steps: 50, seeds: 1}}\n", "serve.yaml": fmt.Sprintf(measuredGateway, service.URL),
	})
	s := serveIn(t, folder, "--config", "serve.yaml")
	const calls = 20
	for n := range calls {
		s.chats(t, fmt.Sprintf("how is question %d", n))
	}
	s.stops(t)

	out := runIn(t, folder, "import", "--log", "log", "--partial", "partial.parquet")
	if !strings.Contains(out, fmt.Sprintf("%d outcomes whose fee is not known", calls/2)) || !strings.Contains(out, "measured; a loss of 1 is worth 0.05 USD") {
		t.Error(out)
	}
	runIn(t, folder, "merge", "costs.parquet", "partial.parquet", "--out", "both.parquet")
	first, both := readTensor(t, folder, "costs.parquet"), readTensor(t, folder, "both.parquet")
	for _, key := range []string{costs.NamesKey, costs.MoneyKey, costs.PricesKey} {
		if both.Meta[key] == "" || both.Meta[key] != first.Meta[key] {
			t.Errorf("%s is %q, before %q", key, both.Meta[key], first.Meta[key])
		}
	}
	want := loggedFees(t, filepath.Join(folder, "log"))
	if len(want) != calls/2 || both.Len() != first.Len()+len(want) || both.UnknownCells() != len(want) {
		t.Errorf("%d fees, %d rows, %d outcomes unknown", len(want), both.Len(), both.UnknownCells())
	}
	for n := first.Len(); n < both.Len(); n++ {
		for i, loss := range both.Losses(n) {
			fee := float64(both.Fee[n*2+i])
			if loss == loss && (loss != 0.25 || math.Abs(fee-want[both.IDs[n]]) > 1e-6*fee) || loss != loss && fee == fee {
				t.Errorf("row %d, pair %d: loss %v, fee %v, want %v", n, i, loss, fee, want[both.IDs[n]])
			}
		}
	}
	runIn(t, folder, "train", "--in", "both.parquet", "--config", "train.yaml", "--out", "second")

	// All rows know their tokens and seconds, so that fees follow at other prices too.
	write(t, folder, map[string]string{"dear.yaml": strings.ReplaceAll(measuredPrices, "20}", "40}")})
	if out := runIn(t, folder, "eval", "--in", "both.parquet", "--policy", "second", "--prices", "dear.yaml", "--resamples", "50"); !strings.Contains(out, "at the last prices in dear.yaml") {
		t.Error(out)
	}

	// Without measured fees all losses stay, and nothing takes them for free.
	runIn(t, folder, "import", "--log", "log", "--partial", "losses.parquet", "--no-fees")
	if rest := readTensor(t, folder, "losses.parquet"); rest.Len() != calls || rest.Fee != nil {
		t.Errorf("%d rows, fees %v", rest.Len(), rest.Fee)
	}
	p := start(t, folder, nil, "merge", "costs.parquet", "losses.parquet", "--fill-fee", "--out", "free.parquet")
	if err := <-p.ended; err == nil || !strings.Contains(p.stderr.String(), "so what is not known of their calls is not 0") {
		t.Error(err, p.stderr.String())
	}
}

// chats asks the gateway and tells it that the answer has the score 0.75.
func (s *server) chats(t *testing.T, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "pipe", "messages": []any{map[string]any{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.Post(s.url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if text, err := io.ReadAll(got.Body); err != nil || got.StatusCode != http.StatusOK {
		t.Fatal(got.StatusCode, string(text), err)
	}
	s.posts(t, "/v1/outcomes", map[string]any{"id": got.Header.Get("X-Pipe-Decision"), "score": 0.75})
}

// loggedFees are the fees by id that follow from the tokens and the time of the calls in a log, where the tokens are known.
func loggedFees(t *testing.T, folder string) map[string]float64 {
	t.Helper()
	log, err := decisionlog.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	fees := map[string]float64{}
	for d, err := range log.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		if !d.Usage.Known {
			continue
		}
		in, out := 1.0, 2.0
		if d.Executed == 1 {
			in, out = 10, 20
		}
		fees[d.ID] = 20 * (3000*in/1e6 + 50*out/1e6 + float64(d.Stages.Expert)/1e6*0.001)
	}
	return fees
}
