package grading

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/grade"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/experts/language/languagetest"
	"pipe/internal/progress"
	"pipe/internal/realdata"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// setup is a build with a session of chat models, and a runtime if there is one.
func setup(t *testing.T, money *chat.Budget) *part.Setup {
	t.Helper()
	s := (&part.Build{Inputs: make(part.Inputs), Progress: progress.Silent{}}).Setup("task_loss")
	s.Open = func() (*ort.Runtime, error) { return orttest.Open(t, 0), nil }
	chat.OpenSession(s.Build, t.TempDir(), money)
	t.Cleanup(func() {
		if err := s.Build.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open makes a grader that is closed at the end.
func open(t *testing.T, s *part.Setup, kind string, settings map[string]any) grade.Grader {
	t.Helper()
	g, err := Open(t.Context(), s, grade.Config{Kind: kind, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := g.(interface{ Close() error }); ok {
		t.Cleanup(func() { c.Close() })
	}
	return g
}

// answers are three answers to a question, of which one is empty.
var answers = []grade.Answer{
	{Question: "Where?", Text: "<think>x</think>Paris", References: []string{"Paris", "the city of Paris"}},
	{Question: "Where?", Text: "Rome", References: []string{"Paris"}},
	{Question: "Where?", Text: " ", References: []string{"Paris"}},
}

func TestJudgeAsksAboutEveryAnswer(t *testing.T) {
	server := chattest.NewServer(t)
	var asked []string
	server.Answer = func(user string) string {
		asked = append(asked, user)
		if strings.Contains(user, "ANSWER TO GRADE\nParis\n") {
			return "<think>WRONG?</think> **Correct**"
		}
		return "WRONG"
	}
	s := setup(t, nil)
	model := server.Settings(map[string]any{"kind": "endpoint", "concurrency": 1})
	g := open(t, s, "judge", map[string]any{"model": model})
	for range 2 { // the second time from kept replies
		tally := &chat.Tally{}
		scores, err := g.Grade(chat.WithTally(t.Context(), tally), answers)
		if err != nil || !slices.Equal(scores, []float64{1, 0, 0}) {
			t.Errorf("%v, %v", scores, err)
		}
		if c := tally.Of([]string{"judge of task_loss"})[0]; c.Graded != 2 || c.PromptTokens != 200 {
			t.Errorf("counts %+v", c)
		}
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "QUESTION\nWhere?") || !strings.Contains(asked[0], "- Paris\n- the city of Paris\n") {
		t.Errorf("asked %q", asked)
	}
	if got := s.Inputs.Of("task_loss"); !slices.Contains(got, "settings of judge of task_loss") || !slices.Contains(got, "settings of task_loss") {
		t.Errorf("inputs %q", got)
	}
}

// TestJudgeWithNumbers reads the last number of a pattern within a range; other replies are an error, or have a score.
func TestJudgeWithNumbers(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string {
		return map[string]string{"a": "Score: 2. No, score: 9", "b": "Score: 1", "c": "Score: 12", "d": "none"}[user]
	}
	settings := map[string]any{
		"model":  server.Settings(map[string]any{"kind": "endpoint"}),
		"prompt": "{{.Answer}}", "pattern": `(?i)score: (\d+)`, "range": []any{1, 10},
	}
	g := open(t, setup(t, nil), "judge", settings)
	scores, err := g.Grade(t.Context(), []grade.Answer{{Text: "a"}, {Text: "b"}})
	if err != nil || math.Abs(scores[0]-8.0/9) > 1e-12 || scores[1] != 0 || g.NeedsReference() {
		t.Errorf("%v, %v", scores, err)
	}
	for _, text := range []string{"c", "d"} {
		_, err := g.Grade(t.Context(), []grade.Answer{{Text: "a"}, {Text: " "}, {Text: text}})
		var one *grade.AnswerError
		if !errors.As(err, &one) || one.Index != 2 || !strings.Contains(err.Error(), "has no score; set unreadable") {
			t.Errorf("%s: %v", text, err)
		}
	}
	settings["unreadable"] = 0.25
	tally := &chat.Tally{}
	scores, err = open(t, setup(t, nil), "judge", settings).Grade(chat.WithTally(t.Context(), tally), []grade.Answer{{Text: "c"}, {Text: "b"}})
	if c := tally.Of([]string{"judge of task_loss"})[0]; err != nil || !slices.Equal(scores, []float64{0.25, 0}) || c.Unparseable != 1 || c.Graded != 1 {
		t.Errorf("%v, %v, %+v", scores, err, c)
	}
}

// TestJudgeWithinTheBudget: the budget of the run is the judge's, too.
func TestJudgeWithinTheBudget(t *testing.T) {
	server := chattest.NewServer(t)
	money, err := chat.NewBudget(1e-9)
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, setup(t, money), "judge", map[string]any{"model": server.Settings(map[string]any{"kind": "endpoint", "price": map[string]any{"prompt": 1, "completion": 1}})})
	var over *chat.BudgetError
	if _, err := g.Grade(t.Context(), answers); !errors.As(err, &over) || server.Requests() != 0 {
		t.Errorf("%d requests, %v", server.Requests(), err)
	}
}

func TestBadModelsOfGraders(t *testing.T) {
	type m = map[string]any
	chatModel := m{"kind": "endpoint", "base_url": "http://x", "model": "m"}
	for says, c := range map[string]grade.Config{
		"model: not set":                  {Kind: "judge"},
		"model: kind: not set":            {Kind: "judge", Settings: m{"model": m{"model": "m"}}},
		"model: unknown kind \"x\"":       {Kind: "judge", Settings: m{"model": m{"kind": "x"}}},
		"model: base_url is not set":      {Kind: "judge", Settings: m{"model": m{"kind": "endpoint", "model": "m"}}},
		"prompt: not set, but scores":     {Kind: "judge", Settings: m{"model": chatModel, "scores": m{"A": 1}}},
		"scores: A is 2":                  {Kind: "judge", Settings: m{"model": chatModel, "prompt": "{{.Answer}}", "scores": m{"A": 2}}},
		"scores: there are 1 labels":      {Kind: "judge", Settings: m{"model": chatModel, "prompt": "{{.Answer}}", "scores": m{"A": 1}}},
		"unknown name \"answer\"; known":  {Kind: "judge", Settings: m{"model": chatModel, "prompt": "{{.answer}}", "scores": m{"A": 1, "B": 0}}},
		"no template has {{.Answer}}":     {Kind: "judge", Settings: m{"model": chatModel, "prompt": "{{.Question}}", "scores": m{"A": 1, "B": 0}}},
		"pattern: it has 0 groups":        {Kind: "judge", Settings: m{"model": chatModel, "prompt": "{{.Answer}}", "pattern": "a"}},
		"range must be the worst and the": {Kind: "judge", Settings: m{"model": chatModel, "range": []any{1, 1}}},
		"unreadable must be 0 to 1":       {Kind: "judge", Settings: m{"model": chatModel, "unreadable": 3}},
		"model: unknown key \"modle\"":    {Kind: "pair", Settings: m{"model": m{"modle": "x"}}},
		"second: line 1: unknown name":    {Kind: "pair", Settings: m{"model": m{"model": "x"}, "second": "{{.Answer}}{{.x}}"}},
	} {
		if _, err := Open(t.Context(), setup(t, nil), c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	if _, err := grade.Open(t.Context(), grade.Config{Kind: "judge", Settings: m{"model": chatModel}}, nil); err == nil || !strings.Contains(err.Error(), "no model can be opened here") {
		t.Errorf("%v", err)
	}
}

// TestPairScores: the score is the softmax of the class, for the best reference. The toy model adds up bytes.
func TestPairScores(t *testing.T) {
	folder := languagetest.WritePairFolder(t, "same", "other", "unclear")
	s := setup(t, nil)
	g := open(t, s, "pair", map[string]any{"model": map[string]any{"model": folder}, "class": "unclear"})
	scores, err := g.Grade(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	// Logits are sum, -sum and sum / 2, each plus the number of tokens of the second text.
	m, err := (&models{setup(t, nil)}).Pair(t.Context(), map[string]any{"model": folder})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Probabilities(t.Context(), [][2]string{{"Paris", "Paris"}, {"the city of Paris", "Paris"}, {"Paris", "Rome"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{float64(max(p[0][2], p[1][2])), float64(p[2][2]), 0}; !slices.Equal(scores, want) || !g.NeedsReference() {
		t.Errorf("%v, not %v", scores, want)
	}
	for _, row := range p {
		if sum := row[0] + row[1] + row[2]; math.Abs(float64(sum)-1) > 1e-6 {
			t.Errorf("probabilities %v", row)
		}
	}
	if !slices.ContainsFunc(s.Inputs.Of("model of task_loss"), func(n string) bool { return strings.HasPrefix(n, "model") }) {
		t.Errorf("the model is no input: %v", s.Inputs)
	}
	if _, err := Open(t.Context(), setup(t, nil), grade.Config{Kind: "pair", Settings: map[string]any{"model": map[string]any{"model": folder}, "class": "equal"}}); err == nil ||
		!strings.Contains(err.Error(), `class is "equal"; the classes of the model are same, other, unclear`) {
		t.Errorf("%v", err)
	}
}

// TestPairOfOneClass: a model with one output gives its sigmoid.
func TestPairOfOneClass(t *testing.T) {
	folder := languagetest.WritePairFolder(t, "similar")
	languagetest.WritePairGraph(t, folder, 0.001)
	g := open(t, setup(t, nil), "pair", map[string]any{"model": map[string]any{"model": folder}, "first": "{{.Question}}"})
	scores, err := g.Grade(t.Context(), []grade.Answer{{Question: "A", Text: "B"}})
	if err != nil || g.NeedsReference() {
		t.Fatal(err)
	}
	m, err := (&models{setup(t, nil)}).Pair(t.Context(), map[string]any{"model": folder})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	encoded, err := m.(*pairModel).Encode("A", "B")
	if err != nil {
		t.Fatal(err)
	}
	logit := 0.0
	for i, id := range encoded.IDs {
		logit += 0.001*float64(id) + float64(encoded.Types[i])
	}
	if want := 1 / (1 + math.Exp(-logit)); math.Abs(scores[0]-want) > 1e-6 {
		t.Errorf("%v, not %v", scores, want)
	}
}

// TestJudgeThatRunsHere: a causal model writes the verdicts. It is random, so what it says is no label.
func TestJudgeThatRunsHere(t *testing.T) {
	folder := realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random")
	g := open(t, setup(t, nil), "judge", map[string]any{
		"model": map[string]any{"kind": "onnx_causal", "model": filepath.Clean(folder), "max_new_tokens": 4}, "unreadable": 0.5,
	})
	scores, err := g.Grade(t.Context(), answers)
	if err != nil || fmt.Sprint(scores) != "[0.5 0.5 0]" {
		t.Errorf("%v, %v", scores, err)
	}
}
