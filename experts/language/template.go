package language

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// chatTemplate writes a conversation as the text that a model was trained on, up
// to where its answer starts.
type chatTemplate func(Conversation) (string, error)

// chatTemplates are the families by name. They write what the families' own
// templates write for conversations without tools.
var chatTemplates = map[string]func(Conversation) string{
	"plain":   plainText,
	"qwen2.5": qwen25Text,
	"qwen3":   qwen3Text,
}

// templatesOf maps a model_type of config.json to its family.
var templatesOf = map[string]string{"qwen2": "qwen2.5", "qwen3": "qwen3"}

// templateFor returns a template by name; "" selects the one of the model's type.
func templateFor(name, modelType string, noThinking bool) (chatTemplate, error) {
	if name == "" {
		if name = templatesOf[modelType]; name == "" {
			return nil, fmt.Errorf("template: not set, and models of type %q have no default; known are %s", modelType, part.Known(chatTemplates))
		}
	}
	write, ok := chatTemplates[name]
	if !ok {
		return nil, fmt.Errorf("template is %q; known are %s", name, part.Known(chatTemplates))
	}
	if noThinking && name != "qwen3" {
		return nil, fmt.Errorf("no_thinking: template %s has no <think> blocks", name)
	}
	return func(c Conversation) (string, error) {
		if err := checkTurns(c); err != nil {
			return "", err
		}
		text := write(c)
		if noThinking {
			text += "<think>\n\n</think>\n\n"
		}
		return text, nil
	}, nil
}

// checkTurns rejects conversations that the families do not support, or write
// differently.
func checkTurns(c Conversation) error {
	if len(c) == 0 || c[len(c)-1].Role != "user" {
		return errors.New("a conversation must end with a user's turn")
	}
	for i, m := range c {
		switch {
		case m.Role == "user" || m.Role == "assistant":
		case m.Role == "system" && i == 0:
		default:
			return fmt.Errorf("turn %d of the conversation has role %q; known are user, assistant and, first, system", i+1, m.Role)
		}
	}
	return nil
}

// plainText is for models that were not trained on conversations: the contents,
// each followed by an empty line.
func plainText(c Conversation) string {
	var b strings.Builder
	for _, m := range c {
		b.WriteString(m.Content + "\n\n")
	}
	return b.String()
}

// knowsTurns returns an error if a template marks turns with special tokens that
// the model's tokenizer lacks: it would read them as words.
func (f *Folder) knowsTurns(render chatTemplate) error {
	text, err := render(Conversation{{Role: "user"}})
	if err != nil {
		return err
	}
	for _, mark := range []string{turnStart, turnEnd} {
		if _, ok := f.tokens.ID(mark); !ok && strings.Contains(text, mark) {
			return &costs.DataError{
				File: filepath.Join(f.path, "tokenizer.json"),
				Msg:  fmt.Sprintf("has no token %s, which the template uses to mark turns: use the model's own tokenizer, or another template", mark),
			}
		}
	}
	return nil
}

// qwen25Text is ChatML. A conversation without a system turn gets Qwen2.5's default
// one.
func qwen25Text(c Conversation) string {
	if c[0].Role != "system" {
		c = append(Conversation{{Role: "system", Content: "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."}}, c...)
	}
	return chatML(c)
}

// qwen3Text is ChatML; <think> blocks of earlier answers are removed.
func qwen3Text(c Conversation) string {
	told := make(Conversation, len(c))
	for i, m := range c {
		if at := strings.LastIndex(m.Content, "</think>"); m.Role == "assistant" && at >= 0 {
			m.Content = strings.TrimLeft(m.Content[at+len("</think>"):], "\n")
		}
		told[i] = m
	}
	return chatML(told)
}

// The tokens of ChatML.
const (
	turnStart = "<|im_start|>"
	turnEnd   = "<|im_end|>"
)

// chatML marks every turn and opens the assistant's.
func chatML(c Conversation) string {
	var b strings.Builder
	for _, m := range c {
		b.WriteString(turnStart + m.Role + "\n" + m.Content + turnEnd + "\n")
	}
	b.WriteString(turnStart + "assistant\n")
	return b.String()
}
