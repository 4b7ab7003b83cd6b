package retrieval

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/internal/progress"
	"pipe/internal/realdata"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// reformulatorSetup is what the constructor of an advice gets.
func reformulatorSetup(t testing.TB) *part.Setup {
	t.Helper()
	b := &part.Build{
		Inputs: make(part.Inputs), Progress: progress.Silent{},
		Open: func() (*ort.Runtime, error) { return orttest.Open(t, 0), nil },
	}
	chat.OpenSession(b, t.TempDir(), nil)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.Setup(`advice "rewritten"`)
}

func TestReformulator(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string {
		if strings.Contains(user, "empty") {
			return "<think>what?</think>\n \"\" \n"
		}
		return "\n**Query:** \"oil viscosity\"\nI hope this helps."
	}
	s := reformulatorSetup(t)
	r, err := OpenReformulator(t.Context(), s, server.Settings(map[string]any{"kind": "endpoint"}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	counted := &chat.Tally{}
	batch := []part.Instance{{Text: "Oil is thick."}, {Text: "An empty claim."}, {Text: "Oil is thick."}}
	got, err := r.Queries(chat.WithTally(t.Context(), counted), batch)
	if want := []string{"oil viscosity", "An empty claim.", "oil viscosity"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q (%v)", got, want, err)
	}
	c := counted.Of([]string{`reformulator of advice "rewritten"`})
	if c[0].Queries != 2 || c[0].Empty != 1 || server.Requests() != 2 {
		t.Errorf("counts %+v, %d requests", c, server.Requests())
	}
	if s.Part != `advice "rewritten"` {
		t.Errorf("the part is %s", s.Part)
	}
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{nil, "kind: not set"},
		{map[string]any{"kind": "oracle"}, `unknown kind "oracle"`},
		{map[string]any{"kind": "endpoint"}, "base_url is not set"},
	} {
		if _, err := OpenReformulator(t.Context(), s, c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestQueriesAreCleaned(t *testing.T) {
	for answer, want := range map[string]string{
		"oil":                           "oil",
		"  \"Nikolaj Coster-Waldau\"  ": "Nikolaj Coster-Waldau",
		"Search query: `Fox network`":   "Fox network",
		"- Star Trek: Discovery":        "Star Trek: Discovery",
		"\n\n* one\n* two":              "one",
		"<think>hm</think>\n“quoted”":   "quoted",
		"<think>endless":                "",
		"***":                           "",
		"Query:\nTetris":                "Tetris",
	} {
		if got := cleanQuery(answer); got != want {
			t.Errorf("%q: got %q, want %q", answer, got, want)
		}
	}
}

// TestReformulatorOnACausalModel goes the way of an advice: kind and settings to
// queries.
func TestReformulatorOnACausalModel(t *testing.T) {
	s := reformulatorSetup(t)
	settings := map[string]any{"kind": "onnx_causal", "max_new_tokens": 8, "model": realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random")}
	r, err := OpenReformulator(context.Background(), s, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch := []part.Instance{{Text: "The old lake froze."}, {Text: "Ice."}, {Text: "It was cold in year 7."}}
	queries, err := r.Queries(context.Background(), batch)
	if err != nil || len(queries) != 3 {
		t.Fatalf("%q, %v", queries, err)
	}
	for i, q := range queries {
		if q == "" || strings.Contains(q, "\n") {
			t.Errorf("query %d is %q", i, q)
		}
	}
	if s.Inputs[`model of reformulator of advice "rewritten"`] == "" {
		t.Errorf("the model is no input of the build: %v", s.Inputs)
	}
}

// TestReformulatorNamesTheInstance: an error about one conversation names its instance.
func TestReformulatorNamesTheInstance(t *testing.T) {
	r, err := OpenReformulator(context.Background(), reformulatorSetup(t), map[string]any{
		"kind": "onnx_causal", "max_length": 200, "model": realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch := []part.Instance{{Entry: part.Entry{ID: "short"}, Text: ""}, {Entry: part.Entry{ID: "long"}, Text: strings.Repeat("long ", 200)}}
	if _, err := r.Queries(context.Background(), batch); err == nil || !strings.Contains(err.Error(), `instance "long": the prompt has`) {
		t.Errorf("got %v", err)
	}
}
