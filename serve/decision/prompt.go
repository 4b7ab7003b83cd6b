package decision

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/textfile"
)

// Which part of a conversation is the input of an encoder of texts.
const (
	PromptLastUser = "last_user" // the text of the last message of a user
	PromptUsers    = "users"     // the texts of all messages of users, with an empty line between them
	PromptAll      = "all"       // every message with a text as "role: text", with an empty line between them
)

var prompts = map[string]struct{}{PromptLastUser: {}, PromptUsers: {}, PromptAll: {}}

// maxMessages is the most messages of one conversation.
const maxMessages = 10000

// Messages are a conversation, in the form of chat completions.
type Messages []Message

// Message is the part of a message that a policy can use.
type Message struct {
	Role   string
	Texts  []string // the texts of its parts
	Images []string // the URLs of its images, as they were given
}

// PromptError means that a conversation has no input for the policy, or cannot be read.
type PromptError struct {
	Reason string
	// NoInput means that the conversation is valid, but has no input for the policy. An expert could answer it.
	NoInput bool
}

func (e *PromptError) Error() string { return "messages: " + e.Reason }

// ReadMessages reads the messages of a chat completion request. Unknown parts and fields are ignored, because they are meant
// for the experts. The error is a *[PromptError].
func ReadMessages(raw []byte) (Messages, error) {
	var list []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &PromptError{Reason: "they are not a list of messages with a role and content: " + PlainJSON(err)}
	}
	if len(list) == 0 || len(list) > maxMessages {
		return nil, &PromptError{Reason: fmt.Sprintf("there are %d, not 1 to %d", len(list), maxMessages)}
	}
	messages := make(Messages, len(list))
	for i, m := range list {
		messages[i].Role = m.Role
		if err := messages[i].read(m.Content); err != nil {
			return nil, &PromptError{Reason: fmt.Sprintf("message %d: %v", i+1, err)}
		}
	}
	return messages, nil
}

// read reads the content of a message: a text, or a list of parts. A message with only tool calls has none.
func (m *Message) read(content jsontext.Value) error {
	switch content.Kind() {
	case 0, 'n':
		return nil
	case '"':
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return errors.New(PlainJSON(err))
		}
		m.Texts = []string{text}
		return nil
	case '[':
	default:
		return errors.New("its content is neither a string nor a list of parts")
	}
	var parts []struct {
		Type     string         `json:"type"`
		Text     *string        `json:"text"`
		ImageURL jsontext.Value `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return errors.New("its content is not a list of parts: " + PlainJSON(err))
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != nil:
			m.Texts = append(m.Texts, *p.Text)
		case p.Type == "image_url":
			var image struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal(p.ImageURL, &image); err != nil {
				return errors.New("image_url: " + PlainJSON(err))
			}
			m.Images = append(m.Images, image.URL)
		}
	}
	return nil
}

// Text returns the input of an encoder of texts, which prompt selects. The texts of the parts of one message are joined by
// line breaks. The error is a *[PromptError] if there is no text.
func (m Messages) Text(prompt string) (string, error) {
	var texts []string
	for _, one := range m {
		text := strings.Join(one.Texts, "\n")
		switch {
		case strings.TrimSpace(text) == "":
		case prompt == PromptAll:
			texts = append(texts, one.Role+": "+text)
		case one.Role == "user":
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return "", &PromptError{"no message has a text that the policy can decide on", true}
	}
	if prompt == PromptLastUser || prompt == "" {
		return texts[len(texts)-1], nil
	}
	return strings.Join(texts, "\n\n"), nil
}

// Image returns the input of an encoder of images: the file of the last image of a user. The error is a *[PromptError] if
// there is none, or if it is a link, because the server fetches nothing for a caller.
func (m Messages) Image() ([]byte, error) {
	for i := len(m) - 1; i >= 0; i-- {
		if n := len(m[i].Images); m[i].Role == "user" && n > 0 {
			file, err := ReadImage(m[i].Images[n-1])
			if err != nil {
				return nil, &PromptError{fmt.Sprintf("message %d: image: %v", i+1, err), errors.Is(err, errLink)}
			}
			return file, nil
		}
	}
	return nil, &PromptError{"no message has an image that the policy can decide on", true}
}

var errLink = errors.New("is a link: send the file as a data URL in base64, because the server fetches nothing for a caller")

// ReadImage reads the file of an image from a data URL in base64, or from plain base64.
func ReadImage(text string) ([]byte, error) {
	if strings.HasPrefix(text, "http:") || strings.HasPrefix(text, "https:") {
		return nil, errLink
	}
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		kind, data, ok := strings.Cut(rest, ",")
		if !ok || !strings.HasSuffix(kind, ";base64") {
			return nil, errors.New("is a data URL that is not in base64")
		}
		text = data
	}
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	if len(file) == 0 {
		return nil, errors.New("is empty")
	}
	return file, nil
}

// PlainJSON describes an error of the JSON package without the names of Go types.
func PlainJSON(err error) string {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		where := fmt.Sprintf(" at byte %d", syntax.ByteOffset)
		if syntax.JSONPointer != "" {
			where = fmt.Sprintf(" in %s%s", textfile.Short(string(syntax.JSONPointer)), where)
		}
		return strings.TrimPrefix(syntax.Err.Error(), "jsontext: ") + where
	case errors.As(err, &semantic):
		what := "has the wrong type"
		if k := kindNames[semantic.JSONKind]; k != "" {
			what = "cannot be " + k
		}
		if semantic.Err == json.ErrUnknownName {
			what = "is not known"
		}
		if semantic.JSONPointer == "" {
			return "the value " + what
		}
		return fmt.Sprintf("%s %s", textfile.Short(string(semantic.JSONPointer)), what)
	}
	return err.Error()
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "true", 'f': "false", '"': "a text", '0': "this number", '{': "an object", '[': "a list",
}
