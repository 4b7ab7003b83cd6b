package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat/chattest"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/storage"
)

// newQuestions writes n sums as a table of questions and answers, a page with the result of each, and the configuration
// of a build in which two models answer them without and with a page.
func newQuestions(t testing.TB, server *chattest.Server, n int, more map[string]any) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	var rows, pages strings.Builder
	fmt.Fprintln(&rows, "id,question,answer,x")
	for i := range n {
		fmt.Fprintf(&rows, "q%d,how much is sum%d?,\"So #### %d,000\",%d\n", i, i, i+1, i)
		fmt.Fprintf(&pages, `{"id": "Sum_%d", "text": "sum%d is %d thousand", "lines": ""}`+"\n", i, i, i+1)
	}
	w.write(t, "questions.csv", rows.String())
	w.write(t, "pages.jsonl", pages.String())
	if _, err := bm25.Build(context.Background(), bm25.BuildOptions{
		Pages: storage.File(filepath.Join(w.dir, "pages.jsonl")), Out: storage.File(filepath.Join(w.dir, "pages.bm25")), Settings: bm25.DefaultSettings(),
	}); err != nil {
		t.Fatal(err)
	}
	w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "questions.csv", "text": "question", "reference": "answer"}}
	w.cfg.Split.Settings = map[string]any{"validation": 0}
	w.cfg.TaskLoss = part.Part{Kind: "number", Settings: map[string]any{"after": "####"}}
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "none", Kind: "none"},
		{Name: "page", Fee: 0.01, Kind: "passages", Settings: map[string]any{"index": "pages.bm25", "top": 1}},
	}
	settings := server.Settings(map[string]any{
		"price": map[string]any{"prompt": 1, "completion": 2}, "system": "Compute.",
		"prompt": "{{range .Passages}}[{{.Title}}] {{.Text}}\n{{end}}{{.question}}",
	})
	for k, v := range more {
		settings[k] = v
	}
	large := map[string]any{}
	for k, v := range settings {
		large[k] = v
	}
	large["model"] = "l"
	w.cfg.Experts = []part.ExpertConfig{{Name: "small", Kind: "endpoint", Settings: settings}, {Name: "large", Kind: "endpoint", Settings: large}}
	w.cfg.Features = []part.Part{{Kind: "columns", Settings: map[string]any{"columns": []any{"x"}}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 8, 4, 2
	return w
}

// computes answers sums from the page if there is one, else with a wrong number.
func computes(user string) string {
	var sum, result int
	if _, text, ok := strings.Cut(user, "] sum"); ok {
		fmt.Sscanf(text, "%d is %d thousand", &sum, &result)
		return fmt.Sprintf("<think>%d?</think>That makes $%d,000.00.", 7*sum, result)
	}
	return "perhaps 12"
}

// TestBuildOfOpenQuestions checks losses, answers, fees and counts; that a second build asks nothing; that another grader
// grades kept answers again, and that another prompt is a change of the inputs.
func TestBuildOfOpenQuestions(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = computes
	w := newQuestions(t, server, 20, nil)
	r, tensor := w.mustRun(t)
	if tensor.Labels != nil || tensor.Actions.Len() != 4 {
		t.Errorf("labels %v, %d actions", tensor.Labels, tensor.Actions.Len())
	}
	for i := range tensor.Len() {
		for a := range 4 {
			cell, said, loss := 4*i+a, "perhaps 12", float32(1)
			if a%2 == 1 {
				said, loss = fmt.Sprintf("That makes $%d,000.00.", i+1), 0
			}
			if tensor.Predictions[cell] != said || tensor.Loss[cell] != loss || tensor.Fee[cell] != float32(110e-6) {
				t.Errorf("cell %d: %q, loss %v, fee %v", cell, tensor.Predictions[cell], tensor.Loss[cell], tensor.Fee[cell])
			}
		}
	}
	if c := r.Answers[0]; c.Open != 40 || c.Unreadable != 0 || c.Asked != 40 || c.PromptTokens != 4000 {
		t.Errorf("counts %+v", c)
	}
	body := ""
	for text := range server.TakeServed() {
		if strings.Contains(text, "[Sum 3]") && strings.Contains(text, `"l"`) {
			body = text
		}
	}
	if !strings.Contains(body, `{"role":"system","content":"Compute."},{"role":"user","content":"[Sum 3] sum3 is 4 thousand\nhow much is sum3?"}`) || !strings.Contains(body, `"max_tokens":1024`) {
		t.Errorf("asked %s", body)
	}
	before := server.Requests()

	w.cfg.TaskLoss = part.Part{Kind: "exact"}
	var changed *ChangedError
	if _, err := w.run(t.Context()); !errors.As(err, &changed) || !slices.Contains(changed.Changes, "settings of task_loss changed") {
		t.Errorf("another grader: %v", err)
	}
	again, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
	if err != nil || again.Answers[0].Asked != 0 || server.Requests() != before {
		t.Fatalf("grading again: %+v, %v", again, err)
	}
	tensor, err = costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil || slices.Contains(tensor.Loss, 0) {
		t.Errorf("no answer is exactly its reference: %v, %v", tensor.Loss, err)
	}

	w.cfg.Experts[0].Settings["prompt"] = "{{.question}}"
	if _, err := w.run(t.Context()); !errors.As(err, &changed) || !slices.Equal(changed.Changes, []string{`settings of prompt of expert "small" changed`}) {
		t.Errorf("another prompt: %v", err)
	}
}

// TestOpenBuildSurvivesFaults: refusals, broken connections and answers that end early are tried again, and nothing is
// paid twice.
func TestOpenBuildSurvivesFaults(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = computes
	server.Fault = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		switch n % 7 {
		case 0:
			http.Error(w, "busy", http.StatusTooManyRequests)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			fmt.Fprint(w, `{"choices":[{"message":{"con`)
		default:
			return false
		}
		return true
	}
	w := newQuestions(t, server, 4, map[string]any{"retries": 100})
	r, tensor := w.mustRun(t)
	if want := []float32{1, 0, 1, 0}; !slices.Equal(tensor.Losses(3), want) {
		t.Errorf("losses %v", tensor.Losses(3))
	}
	if all, distinct := server.Answers(); all != distinct || r.Answers[0].Asked+r.Answers[1].Asked != int64(all) {
		t.Errorf("%d answers to %d requests, %+v", all, distinct, r.Answers)
	}
}

// TestSamplesVote: the most frequent number counts, whatever its spelling, and all samples are paid.
func TestSamplesVote(t *testing.T) {
	server := chattest.NewServer(t)
	asked := 0
	server.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		asked++
		chattest.WriteAnswer(w, []string{"3", "2,000", "no idea", "It is 2000.", "7"}[asked%5], 100, 5)
		return true
	}
	w := newQuestions(t, server, 2, map[string]any{"samples": 5, "temperature": 0.7, "seed": 40, "concurrency": 1})
	w.cfg.Experts, w.cfg.Workers = w.cfg.Experts[:1], 1
	r, tensor := w.mustRun(t)
	for cell, said := range tensor.Predictions {
		if said != "2,000" && said != "It is 2000." || tensor.Fee[cell] != float32(5*110e-6) {
			t.Errorf("%q, fee %v", said, tensor.Fee[cell])
		}
	}
	if want := []float32{1, 1, 0, 0}; !slices.Equal(tensor.Loss, want) {
		t.Errorf("losses %v", tensor.Loss)
	}
	if c := r.Answers[0]; c.Asked != 20 || c.Open != 4 || asked != 20 {
		t.Errorf("%d asked, counts %+v", asked, c)
	}
	if again, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil || again.Answers[0].Cached != 20 || asked != 20 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// TestJSONModeAndToolCalls: the form of answers is asked for, no tool is offered, and a call of one is an empty answer.
func TestJSONModeAndToolCalls(t *testing.T) {
	server := chattest.NewServer(t)
	schema := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "sum", "strict": true, "schema": map[string]any{"type": "object"}}}
	server.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 0:
			fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"sum\": 1}","tool_calls":[{"id":"1","function":{"name":"add"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
		case 1:
			fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"sum\": 2, ","tool_calls":[]},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
		default:
			return false
		}
		return true
	}
	server.Answer = func(string) string { return `{"sum": 3.0, "why": "so"}` }
	w := newQuestions(t, server, 3, map[string]any{"response_format": schema, "concurrency": 1})
	w.write(t, "questions.csv", "id,question,answer,x\na,one,\"{\"\"sum\"\": 1}\",1\nb,two,\"{\"\"sum\"\": 2}\",2\nc,three,\"{\"\"sum\"\": 3}\",3\n")
	w.cfg.TaskLoss = part.Part{Kind: "json"}
	w.cfg.Experts, w.cfg.Advice, w.cfg.Workers = w.cfg.Experts[:1], w.cfg.Advice[:1], 1
	r, tensor := w.mustRun(t)
	if !slices.Equal(tensor.Loss, []float32{1, 1, 0}) || tensor.Predictions[0] != "" {
		t.Errorf("losses %v, answers %q", tensor.Loss, tensor.Predictions)
	}
	if c := r.Answers[0]; c.ToolCalls != 1 || c.Truncated != 1 || c.Unreadable != 2 || c.Open != 1 {
		t.Errorf("counts %+v", c)
	}
	for body := range server.TakeServed() {
		var sent map[string]any
		if err := json.Unmarshal([]byte(body), &sent); err != nil || sent["tools"] != nil {
			t.Errorf("sent %s", body)
		}
		if got, _ := json.Marshal(sent["response_format"]); string(got) != `{"json_schema":{"name":"sum","schema":{"type":"object"},"strict":true},"type":"json_schema"}` {
			t.Errorf("response_format %s", got)
		}
	}
}

// TestColumnsAsAdviceOfPrompts: a column that advice does not reveal is empty in the prompt.
func TestColumnsAsAdviceOfPrompts(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string { return strings.TrimPrefix(user, "hint: ") }
	w := newQuestions(t, server, 1, map[string]any{"prompt": "hint: {{.hint}}"})
	w.write(t, "questions.csv", "id,question,answer,x,hint\na,one,7,1,7\n")
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "bare", Kind: "columns", Settings: map[string]any{"reveal": []any{"question"}}},
		{Name: "hinted", Fee: 0.1, Kind: "columns", Settings: map[string]any{"reveal": []any{"hint"}, "extends": "bare"}},
	}
	if _, tensor := w.mustRun(t); !slices.Equal(tensor.Loss, []float32{1, 0, 1, 0}) {
		t.Errorf("losses %v", tensor.Loss)
	}
}

// Bad prompts, graders and references are errors before anything is asked.
func TestBadOpenBuilds(t *testing.T) {
	server := chattest.NewServer(t)
	for says, change := range map[string]func(*world){
		`expert "small": prompt: line 2: there is no column "questoin"; known are id, question, answer, x, Passages, Text, Labels`: func(w *world) {
			w.cfg.Experts[0].Settings["prompt"] = "Q\n{{.questoin}}"
		},
		`expert "small": prompt: line 1: unclosed action`: func(w *world) { w.cfg.Experts[0].Settings["prompt"] = "{{.question" },
		`instance "q0": prompt: line 1: <.Page.Title>: can't evaluate field Title`: func(w *world) {
			w.cfg.Experts[0].Settings["prompt"] = "{{.question}}{{range .Passages}}{{.Page.Title}}{{end}}"
		},
		`instance "q0": prompt: is empty`: func(w *world) {
			w.cfg.Experts[0].Settings["prompt"] = "{{range .Passages}}{{$.question}}{{end}}"
		},
		"prompt: it has no column of the instances": func(w *world) { w.cfg.Experts[0].Settings["prompt"] = "{{len .Passages}} hello" },
		"prompt: not set, and the build has no labels": func(w *world) {
			delete(w.cfg.Experts[0].Settings, "prompt")
			delete(w.cfg.Experts[0].Settings, "system")
		},
		"system: it needs a prompt":                    func(w *world) { delete(w.cfg.Experts[0].Settings, "prompt") },
		"samples is 3, but temperature is not above 0": func(w *world) { w.cfg.Experts[0].Settings["samples"] = 3 },
		"samples is 0, not 1 to 1000":                  func(w *world) { w.cfg.Experts[0].Settings["samples"] = 0 },
		"unparseable_loss: the build has no labels":    func(w *world) { w.cfg.Experts[0].Settings["unparseable_loss"] = 1 },
		"response_format: type is \"xml\"": func(w *world) {
			w.cfg.Experts[0].Settings["response_format"] = map[string]any{"type": "xml"}
		},
		"extra: tools cannot be set here": func(w *world) { w.cfg.Experts[0].Settings["extra"] = map[string]any{"tools": []any{}} },
		`task_loss: the instances have references (column "answer"), which kind "zero_one" does not`: func(w *world) {
			w.cfg.TaskLoss = part.Part{Kind: "zero_one"}
		},
		"task_loss: the instances have no references": func(w *world) {
			delete(w.cfg.Instances.Settings, "reference")
			w.cfg.Instances.Settings["label"] = ""
		},
		"task_loss: a grader is for open answers": func(w *world) { w.cfg.Labels = []string{"a", "b"} },
		"label is \"question\" and reference is \"answer\"": func(w *world) {
			w.cfg.Instances.Settings["label"] = "question"
		},
		"row 3: column answer: has no number": func(w *world) {
			w.write(t, "questions.csv", "id,question,answer,x\na,one,7,1\nb,two,seven,1\n")
		},
		"row 2: column answer: has more than one number": func(w *world) {
			w.write(t, "questions.csv", "id,question,answer,x\na,one,7 or 8,1\n")
		},
		"row 2: column answer: is empty": func(w *world) { w.write(t, "questions.csv", "id,question,answer,x\na,one,,1\n") },
		"row 2: column answer: is not a JSON list of strings": func(w *world) {
			w.cfg.Instances.Settings["reference_list"] = true
		},
		`task_loss: take is "best"`: func(w *world) { w.cfg.TaskLoss.Settings["take"] = "best" },
	} {
		w := newQuestions(t, server, 3, nil)
		change(w)
		if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	if server.Requests() != 0 {
		t.Errorf("%d requests", server.Requests())
	}
}

// TestOwnPromptsWithLabels: a build with labels may have its own prompt, over texts that are no table.
func TestOwnPromptsWithLabels(t *testing.T) {
	server := chattest.NewServer(t)
	var asked sync.Map
	plain := server.Answer
	server.Answer = func(user string) string {
		asked.Store(user, true)
		return plain(user)
	}
	w := newClaims(t, server, 8, map[string]any{"prompt": "{{.Text}} {{range .Labels}}{{.}}|{{end}}", "system": "Be {{len .Labels}}."})
	_, tensor := w.mustRun(t)
	if tensor.Labels == nil || tensor.Predictions[0] != "REFUTES" {
		t.Errorf("answers %q", tensor.Predictions)
	}
	if _, ok := asked.Load("Claim 3 does not hold. SUPPORTS|REFUTES|NOT_ENOUGH_INFO|"); !ok {
		t.Error("the prompt is another one")
	}
	w.cfg.Experts[0].Settings["prompt"] = "{{.claim}}"
	if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), `there is no column "claim"; known are Passages, Text, Labels`) {
		t.Errorf("%v", err)
	}
}

// TestLongAnswers: answers of megabytes, and of characters that JSON and Parquet have to hold, come back as they were.
func TestLongAnswers(t *testing.T) {
	server := chattest.NewServer(t)
	long := strings.Repeat("naïve \u2028 \x00\t\"", 100_000) + "end"
	server.Answer = func(string) string { return long }
	w := newQuestions(t, server, 2, nil)
	w.write(t, "questions.csv", "id,question,answer,x\na,one,end,1\nb,two,no,1\n")
	w.cfg.TaskLoss = part.Part{Kind: "regexp", Settings: map[string]any{"pattern": "(end)$"}}
	w.cfg.Experts, w.cfg.Advice = w.cfg.Experts[:1], w.cfg.Advice[:1]
	if _, tensor := w.mustRun(t); !slices.Equal(tensor.Loss, []float32{0, 1}) || tensor.Predictions[1] != long {
		t.Errorf("losses %v, answers of %d bytes, not %d", tensor.Loss, len(tensor.Predictions[1]), len(long))
	}
}

// Of several references the best counts.
func TestListsOfReferences(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string { return user }
	w := newQuestions(t, server, 1, map[string]any{"prompt": "{{.question}}"})
	w.cfg.Instances.Settings["reference_list"] = true
	w.cfg.Instances.Settings["file"] = "questions.jsonl"
	w.cfg.TaskLoss = part.Part{Kind: "f1"}
	w.cfg.Experts, w.cfg.Advice = w.cfg.Experts[:1], w.cfg.Advice[:1]
	w.write(t, "questions.jsonl", `{"id": "a", "question": "the Seine", "answer": ["Rhône", "Seine river"], "x": 1}`+"\n"+`{"id": "b", "question": "Nile", "answer": ["Nile"], "x": 1}`+"\n")
	if _, tensor := w.mustRun(t); fmt.Sprintf("%.4f", tensor.Loss) != "[0.3333 0.0000]" {
		t.Errorf("losses %v", tensor.Loss)
	}
}
