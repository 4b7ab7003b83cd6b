package chat

import (
	"context"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/language"
	"pipe/internal/realdata"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// causalSetup is chatSetup with a runtime.
func causalSetup(t *testing.T) *part.Setup {
	t.Helper()
	s := chatSetup(t, 0)
	s.Open = func() (*ort.Runtime, error) { return orttest.Open(t, 0), nil }
	return s
}

// newChatTest makes a chat model of the tiny causal model.
func newChatTest(t *testing.T, settings map[string]any) *causalChat {
	t.Helper()
	settings["model"] = realdata.Folder(t, "models", "tiny-random", "qwen3-tiny-random")
	c, err := newCausalChat(context.Background(), causalSetup(t), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*causalChat)
}

// TestChatAnswersFollowTheirConversations: an answer is the same alone, in
// company and again, and is what the model says.
func TestChatAnswersFollowTheirConversations(t *testing.T) {
	ctx := context.Background()
	c := newChatTest(t, map[string]any{"max_new_tokens": 12})
	var talks []language.Conversation
	for _, text := range []string{"The river froze.", "A long time ago, in another town, somebody wrote a book.", "Ice."} {
		talks = append(talks, say("%s", text))
	}
	all, err := c.Complete(ctx, talks)
	if err != nil {
		t.Fatal(err)
	}
	for i, talk := range talks {
		alone, err := c.Complete(ctx, []language.Conversation{talk})
		if err != nil || alone[0] != all[i] || all[i].Fee != 0 {
			t.Errorf("conversation %d: %+v alone, %+v in company, %v", i, alone, all[i], err)
		}
		if text, err := c.Answer(ctx, talk, 12); err != nil || text != all[i].Text {
			t.Errorf("conversation %d: %q, %v, want %q", i, text, err, all[i].Text)
		}
	}
	if all[0] == all[1] && all[1] == all[2] {
		t.Errorf("all conversations have the answer %q", all[0].Text)
	}
}

func TestChatSettings(t *testing.T) {
	ctx := context.Background()
	if _, err := newCausalChat(ctx, causalSetup(t), map[string]any{"model": ".", "max_new_tokens": 0}); err == nil || !strings.Contains(err.Error(), "max_new_tokens is 0") {
		t.Errorf("got %v", err)
	}
}
