package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"pipe/serve/gateway/jsonedit"
)

// Limits bound what a call can use.
type Limits struct {
	In  int64 // most tokens of the prompt; -1: not known, because the service adds to it
	Out int64 // most tokens of all answers together; -1: not known
	// Field is the field of the request that should say Out; "": it has none.
	Field string
}

// mostOfMedia is the most tokens that one picture, sound or file of a request is taken to have beside its bytes: such a part can be
// a link of a few bytes.
const mostOfMedia = 32768

// media are names in requests that stand once or more for each picture, sound or file, in all protocols.
var media = []string{
	`"image_url"`, `"input_audio"`, `"file"`, `"input_image"`, `"input_file"`, `"image"`, `"document"`, `"video"`, `"inlineData"`, `"fileData"`, `"images"`,
}

// mostOfTools is the most tokens that a service adds to a prompt with tools, to say how they are called.
const mostOfTools = 1024

// limitFields are the fields that bound the tokens of an answer, as paths, by the name of the format. The second list is that of
// the number of answers.
var limitFields = map[string][2][][]string{
	Chat.Name():           {{{"max_completion_tokens"}, {"max_tokens"}}, {{"n"}}},
	Completions.Name():    {{{"max_tokens"}}, {{"n"}, {"best_of"}}},
	Messages.Name():       {{{"max_tokens"}}, nil},
	Responses.Name():      {{{"max_output_tokens"}}, nil},
	Gemini.Format.Name():  {{{"generationConfig", "maxOutputTokens"}}, {{"generationConfig", "candidateCount"}}},
	Ollama.Format.Name():  {{{"options", "num_predict"}}, nil},
	Bedrock.Format.Name(): {{{"inferenceConfig", "maxTokens"}}, nil},
}

// LimitField is the field that bounds the tokens of an answer in a format, such as generationConfig.maxOutputTokens.
func LimitField(f Format) string {
	if paths := limitFields[f.Name()][0]; len(paths) > 0 {
		return strings.Join(paths[0], ".")
	}
	return ""
}

// Limits are those of the request itself, without what is added to it.
func (in *Incoming) Limits() Limits { return LimitsOf(in.Format, in.object.Text) }

// LimitsOf reads the limits of a request as it is sent in a format. A token of a text has at least a byte, and the frame of a
// message has fewer tokens than its bytes in JSON.
func LimitsOf(f Format, body []byte) Limits {
	l := Limits{In: -1, Out: -1}
	o, err := jsonedit.Parse(body)
	if err != nil {
		return l
	}
	if !addsToPrompt(o) {
		l.In = promptLimit(body)
	}
	if f.Name() == Embeddings.Name() || f.Name() == CountTokens.Name() { // their answers have no tokens
		l.Out = 0
		return l
	}
	fields := limitFields[f.Name()]
	for _, path := range fields[0] {
		value, has := at(o, path)
		if n := wholeNumber(value); n > 0 {
			l.Out = max(l.Out, n)
		}
		if has && l.Field == "" {
			l.Field = path[len(path)-1]
		}
	}
	answers := int64(1)
	for _, path := range fields[1] {
		n, _ := at(o, path)
		answers = max(answers, wholeNumber(n))
	}
	if l.Out > 0 {
		l.Out *= answers
	}
	return l
}

// promptLimit is the most tokens of a prompt whose text is all in the request.
func promptLimit(body []byte) int64 {
	most := int64(len(body))
	for _, name := range media {
		most += int64(bytes.Count(body, []byte(name))) * mostOfMedia
	}
	if bytes.Contains(body, []byte(`"tools"`)) || bytes.Contains(body, []byte(`"toolConfig"`)) {
		most += mostOfTools
	}
	return most
}

// addsToPrompt reports whether the service adds texts to the prompt that the request does not have: a conversation or a prompt that
// it keeps, or what its own tools find.
func addsToPrompt(o *jsonedit.Object) bool {
	for _, name := range []string{"previous_response_id", "conversation", "cachedContent"} {
		if o.Get(name) != nil {
			return true
		}
	}
	var tools []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(jsonedit.OrNull(o.Get("tools")), &tools) != nil {
		return o.Get("tools") != nil
	}
	for _, t := range tools {
		if !slices.Contains([]string{"", "function", "custom"}, t.Type) {
			return true
		}
	}
	return false
}

// at returns the value at a path of names, nil for null. has is whether the request has the field, even with the value null.
func at(o *jsonedit.Object, path []string) (value json.RawMessage, has bool) {
	value, has = o.Get(path[0]), o.Has(path[0])
	if len(path) == 1 || value == nil {
		return value, has
	}
	inner, err := jsonedit.Parse(value)
	if err != nil {
		return nil, false
	}
	return at(inner, path[1:])
}

// wholeNumber reads a whole number from 1 to a billion; 0 for anything else.
func wholeNumber(text json.RawMessage) (n int64) {
	if json.Unmarshal(jsonedit.OrNull(text), &n) != nil || n < 0 || n > 1e9 {
		return 0
	}
	return n
}
