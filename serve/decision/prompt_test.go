package decision

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

const conversation = `[
	{"role": "system", "content": "be brief"},
	{"role": "user", "content": "first"},
	{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]},
	{"role": "user", "content": [{"type": "text", "text": "what"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}, {"type": "text", "text": "is this"}, {"type": "later"}]},
	{"role": "assistant", "content": "a picture"}
]`

func TestPrompt(t *testing.T) {
	m, err := ReadMessages([]byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{
		PromptLastUser: "what\nis this",
		PromptUsers:    "first\n\nwhat\nis this",
		PromptAll:      "system: be brief\n\nuser: first\n\nuser: what\nis this\n\nassistant: a picture",
	} {
		if got, err := m.Text(prompt); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", prompt, got, err, want)
		}
	}
	if file, err := m.Image(); err != nil || string(file) != "\x00\x01\x02" {
		t.Errorf("image %q, %v", file, err)
	}
}

func TestPromptErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`{"role": "user"}`:                   "not a list",
		`[]`:                                 "there are 0",
		`[{"role": "user", "content": 5}]`:   "message 1: its content is neither",
		`[{"role": "user", "content": [5]}]`: "message 1: its content is not a list of parts: /0 cannot be this number",
		`[{"role": 5}]`:                      "/0/role cannot be this number",
		`[{"role": "user", "content": "a", "content": "b"}]`:                          "duplicate",
		"[{\"role\": \"user\", \"content\": \"\xff\"}]":                               "UTF-8",
		`[{"role": "user", "content": "` + `\ud800` + `"}]`:                           "surrogate",
		`[{"role": "system", "content": "x"}]`:                                        "no message has a text",
		`[{"role": "user", "content": " \n"}]`:                                        "no message has a text",
		`[{"role": "user", "content": [{"type": "image_url"}]}]`:                      "image_url",
		`[{"role": "user", "content": "x"}] []`:                                       "after top-level value",
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000):                       "cannot be a list",
		`[` + strings.Repeat(`{"role": "user"},`, maxMessages) + `{}]`:                "there are 10001",
		`[{"role": "user", "content": [{"type": "text", "text": null}]}]`:             "no message has a text",
		`[{"role": "user", "content": [{"type": "text", "text": "a", "text": "b"}]}]`: "duplicate",
	} {
		m, err := ReadMessages([]byte(raw))
		if err == nil {
			_, err = m.Text(PromptLastUser)
		}
		var wrong *PromptError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", raw, err, want)
		}
	}
}

func TestReadImage(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/x.png": "is a link", "data:image/png,abc": "not in base64", "data:nothing": "not in base64", "!": "is not base64", "": "is empty",
		"data:image/png;base64,": "is empty",
	} {
		if _, err := ReadImage(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if file, err := ReadImage(base64.StdEncoding.EncodeToString([]byte("GIF"))); err != nil || string(file) != "GIF" {
		t.Errorf("%q, %v", file, err)
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add([]byte(conversation))
	f.Add([]byte(`[{"role":"user","content":"x"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ReadMessages(raw)
		if err != nil {
			return
		}
		for prompt := range prompts {
			if text, err := m.Text(prompt); err == nil && strings.TrimSpace(text) == "" {
				t.Errorf("%s is empty", prompt)
			}
		}
		if file, err := m.Image(); err == nil && len(file) == 0 {
			t.Error("an empty image")
		}
	})
}

// TestNoInput: NoInput is set for valid conversations without an input for the encoder, and not for invalid ones.
func TestNoInput(t *testing.T) {
	image := func(url string) string {
		return `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]`
	}
	for raw, want := range map[string]struct{ text, image bool }{
		`[{"role":"system","content":"x"}]`: {true, true},
		`[{"role":"user","content":null}]`:  {true, true},
		image("https://example.org/a.png"):  {true, true},
		image("data:image/png;base64,AAEC"): {true, false},
		image("!"):                          {true, false},
	} {
		m, err := ReadMessages([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		is := func(err error) bool {
			var p *PromptError
			return errors.As(err, &p) && p.NoInput
		}
		_, text := m.Text(PromptLastUser)
		_, image := m.Image()
		if is(text) != want.text || is(image) != want.image {
			t.Errorf("%s: %v, %v", raw, text, image)
		}
	}
	var wrong *PromptError
	if _, err := ReadMessages([]byte(`[{"role":"user","content":5}]`)); !errors.As(err, &wrong) || wrong.NoInput {
		t.Error(err)
	}
}
