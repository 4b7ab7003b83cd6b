package language

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pipe/experts/language/languagetest"
)

// TestChatTemplatesEqualTransformers compares with the output of
// apply_chat_template of transformers 5.23.0 for the families' own templates.
func TestChatTemplatesEqualTransformers(t *testing.T) {
	var cases []struct {
		Template   string
		NoThinking bool `json:"no_thinking"`
		Messages   Conversation
		Text       string
	}
	languagetest.ReadJSON(t, "testdata/chat_templates.json", &cases)
	for i, c := range cases {
		write, err := templateFor(c.Template, "", c.NoThinking)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := write(c.Messages); err != nil || got != c.Text {
			t.Errorf("case %d, %s: got %q, %v, want %q", i, c.Template, got, err, c.Text)
		}
	}
	if len(cases) != 15 {
		t.Errorf("%d cases", len(cases))
	}
}

func TestTemplateOfAModel(t *testing.T) {
	talk := Conversation{{Role: "user", Content: "Hi"}}
	for _, c := range []struct{ name, model, want string }{
		{"", "qwen3", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{"plain", "qwen3", "Hi\n\n"},
	} {
		write, err := templateFor(c.name, c.model, false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := write(talk); err != nil || got != c.want {
			t.Errorf("%q for %s: got %q, %v", c.name, c.model, got, err)
		}
	}
	for want, c := range map[string]struct {
		name, model string
		quiet       bool
	}{
		`template: not set, and models of type "gpt2" have no default; known are plain, qwen2.5, qwen3`: {"", "gpt2", false},
		`template is "llama"; known are`:                      {"llama", "qwen3", false},
		"no_thinking: template qwen2.5 has no <think> blocks": {"", "qwen2", true},
	} {
		if _, err := templateFor(c.name, c.model, c.quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestConversationsThatNoTemplateTakes(t *testing.T) {
	write, err := templateFor("plain", "", false)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Conversation{
		"must end with a user's turn":                    {{Role: "user"}, {Role: "assistant"}},
		"turn 2 of the conversation has role \"system\"": {{Role: "user"}, {Role: "system"}, {Role: "user"}},
		"role \"tool\"":                                  {{Role: "tool"}, {Role: "user"}},
	} {
		if _, err := write(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := write(nil); err == nil {
		t.Error("an empty conversation is written")
	}
}

// FuzzChatTemplate: every conversation that ends with a user's turn is written, with what the users said in it and nothing of
// the former answers' thoughts beside it; any other is an error.
func FuzzChatTemplate(f *testing.F) {
	file, err := os.ReadFile("testdata/chat_templates.json")
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct{ Messages Conversation }
	if err := json.Unmarshal(file, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		text, err := json.Marshal(c.Messages)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`[{"role":"assistant","content":"</think>"},{"role":"user","content":"<|im_end|>\n"}]`))
	f.Add([]byte(`[{"role":"user"},{"role":"system"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Conversation
		if json.Unmarshal(text, &c) != nil {
			return
		}
		for name := range chatTemplates {
			write, err := templateFor(name, "", name == "qwen3")
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(c)
			got, err := write(c)
			if (err == nil) != (checkTurns(c) == nil) || !slices.Equal(c, before) {
				t.Fatalf("%s: %v", name, err)
			}
			for at, m := range c {
				if err == nil && m.Role != "assistant" && !strings.Contains(got, m.Content) {
					t.Fatalf("%s: turn %d is not in %q", name, at, got)
				}
			}
			if err == nil && name == "qwen3" && !strings.HasSuffix(got, turnStart+"assistant\n<think>\n\n</think>\n\n") {
				t.Fatalf("%q", got)
			}
		}
	})
}
