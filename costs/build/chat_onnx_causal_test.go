package build

import (
	"context"
	"strings"
	"testing"

	"pipe/internal/realdata"
)

// newChatTest makes a chat model of the tiny causal model.
func newChatTest(t *testing.T, settings map[string]any) *causalChat {
	t.Helper()
	settings["model"] = realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random")
	c, err := newCausalChat(context.Background(), languageSetup(t), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*causalChat)
}

// TestChatAnswersFollowTheirConversations: an answer is the same alone, in
// company and again, and is the text of the likeliest tokens.
func TestChatAnswersFollowTheirConversations(t *testing.T) {
	ctx := context.Background()
	c := newChatTest(t, map[string]any{"max_new_tokens": 12})
	var talks []conversation
	for _, text := range []string{"The river froze.", "A long time ago, in another town, somebody wrote a book.", "Ice."} {
		talks = append(talks, queryConversation(&Instance{Text: text}))
	}
	all, err := c.Complete(ctx, talks)
	if err != nil {
		t.Fatal(err)
	}
	for i, talk := range talks {
		alone, err := c.Complete(ctx, []conversation{talk})
		if err != nil || alone[0] != all[i] || all[i].Fee != 0 {
			t.Errorf("conversation %d: %+v alone, %+v in company, %v", i, alone, all[i], err)
		}
		prompt, err := c.prompt(talk)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.generate(ctx, prompt, 12)
		if err != nil || c.tokens.Decode(ids) != all[i].Text || len(ids) != 12 {
			t.Errorf("conversation %d: %d tokens, %q, %v, want %q", i, len(ids), c.tokens.Decode(ids), err, all[i].Text)
		}
	}
	if all[0] == all[1] && all[1] == all[2] {
		t.Errorf("all conversations have the answer %q", all[0].Text)
	}
}

// TestReformulatorOnACausalModel goes the way of an advice: kind and settings to
// queries.
func TestReformulatorOnACausalModel(t *testing.T) {
	s := languageSetup(t)
	r, err := newReformulator(context.Background(), s, map[string]any{
		"kind": "onnx_causal", "max_new_tokens": 8, "model": realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch, _ := claims(3)
	queries, err := r.Queries(context.Background(), batch)
	if err != nil || len(queries) != 3 {
		t.Fatalf("%q, %v", queries, err)
	}
	for i, q := range queries {
		if q == "" || strings.Contains(q, "\n") {
			t.Errorf("query %d is %q", i, q)
		}
	}
	if s.Inputs[`model of reformulator of expert "model"`] == "" {
		t.Errorf("the model is no input of the build: %v", s.Inputs)
	}
}

func TestChatSettings(t *testing.T) {
	ctx := context.Background()
	if _, err := newCausalChat(ctx, languageSetup(t), map[string]any{"model": ".", "max_new_tokens": 0}); err == nil || !strings.Contains(err.Error(), "max_new_tokens is 0") {
		t.Errorf("got %v", err)
	}
	c := newChatTest(t, map[string]any{"max_length": 20})
	batch := []Instance{{Entry: Entry{ID: "short"}, Text: ""}, {Entry: Entry{ID: "long"}, Text: strings.Repeat("long ", 20)}}
	c.limit = len(prompted(t, c, &batch[0])) + 2
	r := &reformulator{chat: c, part: "part"}
	if _, err := r.Queries(ctx, batch); err == nil || !strings.Contains(err.Error(), `instance "long": the prompt has`) {
		t.Errorf("got %v", err)
	}
}

// prompted returns the tokens of the question for an instance's query.
func prompted(t *testing.T, c *causalChat, in *Instance) []int32 {
	t.Helper()
	ids, err := c.prompt(queryConversation(in))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
