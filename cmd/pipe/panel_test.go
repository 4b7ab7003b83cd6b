package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const panelServe = `
policies: {paths: [served.onnx]}
log: {folder: log, flush_interval: 100ms}
decision: {seed: 5}
gateway:
  experts:
    small: {base_url: "URL/v1", model: small, price: {in: 1, cached: 1, out: 2}}
    large: {base_url: "URL/v1", model: large, price: {in: 10, cached: 10, out: 20}}
    referee: {base_url: "URL/v1", model: referee, price: {in: 1, cached: 1, out: 1}}
  panel:
    share: 1
    pairs: all
    budget: {cost: 1000, per: day}
    call_cost: 0.1
    queue: 400
    grader:
      kind: judge
      model: {expert: referee}
      prompt: "{{.Question}} They say {{.Answer}}. GOOD or BAD?"
      scores: {GOOD: 1, BAD: 0}
`

// asked finds the number of a question and what was answered.
var asked = regexp.MustCompile(`number (\d+) [a-j]+(?: They say (yes|no)\.)?`)

// referee is a service with three models: small says yes, large no, and the referee finds yes right for even numbers. Of a yes to
// every tenth question it has no opinion.
func referee(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		Model    string
		Messages []struct{ Content string }
	}
	if err != nil || json.Unmarshal(body, &in) != nil || len(in.Messages) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	found := asked.FindStringSubmatch(in.Messages[0].Content)
	if found == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	n, err := strconv.Atoi(found[1])
	text := map[string]string{"small": "yes", "large": "no"}[in.Model]
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case in.Model == "referee" && n%10 == 9 && found[2] == "yes":
		text = "hard to say"
	case in.Model == "referee" && (n%2 == 0) == (found[2] == "yes"):
		text = "GOOD"
	case in.Model == "referee":
		text = "BAD"
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":10,"total_tokens":1010}}`, in.Model, text)
}

// TestPanelTeaches goes from questions without any outcome to a policy that was trained on them: a panel answers them by all pairs, a judge
// grades the answers, and pipe train learns from the complete rows of the log.
func TestPanelTeaches(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(referee))
	t.Cleanup(service.Close)
	folder := measuredFolder(t, map[string]string{
		"train.yaml": "train: {methods: [], auto: {networks: []}}\n", "serve.yaml": strings.ReplaceAll(panelServe, "URL", service.URL),
	})
	s := serveIn(t, folder, "--config", "serve.yaml")
	const calls = 300
	for n := range calls {
		s.asks(t, numbered(n))
	}
	s.grades(t, 2*calls)
	s.stops(t)

	runIn(t, folder, "import", "--log", "log", "--out", "all.parquet", "--partial", "partial.parquet", "--no-fees")
	all := readTensor(t, folder, "all.parquet")
	if all.Len() != calls*9/10 || all.UnknownCells() != 0 {
		t.Errorf("%d complete rows, %d unknown", all.Len(), all.UnknownCells())
	}
	small, wrong := 0, 0
	for n := range all.Len() {
		switch l := all.Losses(n); {
		case l[0] == 0 && l[1] == 1: // an even number
			small++
		case l[0] != 1 || l[1] != 0:
			wrong++
		}
	}
	if small != calls/2 || wrong != 0 {
		t.Errorf("small is right on %d rows, %d rows are wrong", small, wrong)
	}
	if rest := readTensor(t, folder, "partial.parquet"); rest.Len() != calls/10 || rest.UnknownCells() != calls/10 {
		t.Errorf("%d rows were graded in part, with %d unknown outcomes", rest.Len(), rest.UnknownCells())
	}
	out := runIn(t, folder, "train", "--log", "log", "--config", "train.yaml", "--no-fees", "--out", "second")
	for _, want := range []string{fmt.Sprintf("learned from %d outcomes", calls), "rows with all outcomes judge", "the learned policy is exported"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// numbered is a question. Its first letters say whether its number is even, and the last ones make questions differ: the encoder knows
// letters only.
func numbered(n int) string {
	return fmt.Sprintf("%s number %d %c%c%c", []string{"add", "zip"}[n%2], n, 'a'+n/100, 'a'+n/10%10, 'a'+n%10)
}

// asks asks the gateway, and tells it no outcome.
func (s *server) asks(t *testing.T, text string) {
	t.Helper()
	status, answer, err := ask(http.DefaultClient, s.url+"/v1/chat/completions", fmt.Sprintf(`{"model":"pipe","messages":[{"role":"user","content":%q}]}`, text))
	if err != nil || status != http.StatusOK {
		t.Fatal(status, answer, err)
	}
}

// grades waits until the grader has looked at a number of answers.
func (s *server) grades(t *testing.T, want int) {
	t.Helper()
	number := regexp.MustCompile(`(?m)^pipe_panel_grades_total\{.*\} (\d+)$`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		got := 0
		for _, m := range number.FindAllStringSubmatch(string(text), -1) {
			n, _ := strconv.Atoi(m[1])
			got += n
		}
		if got == want {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of %d answers were graded: %v\n%s", got, want, err, text)
		}
	}
}
