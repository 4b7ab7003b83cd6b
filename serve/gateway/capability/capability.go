// Package capability says whether an expert can take a request, by what is known of its model, before anything is decided.
package capability

import (
	"fmt"

	"pipe/costs/prices"
	"pipe/serve/gateway/protocol/middle"
)

// Needs are what a request asks of a model.
type Needs struct {
	Tokens                                  int64 // of the prompt, estimated from its bytes of text
	Output                                  int64 // most tokens of the answer that the caller asks for; 0: not said
	Tools, Images, Audio, Files, JSONSchema bool

	fields fields
}

// fields are the names of fields in the protocol of the caller.
type fields struct{ messages, tools, output, limit string }

var fieldsOf = map[string]fields{
	"messages":  {"messages", "tools", "output_format", "max_tokens"},
	"responses": {"input", "tools", "text.format", "max_output_tokens"},
}

// bytesPerToken is the estimate of tokens: 4 bytes of English make about one.
const bytesPerToken = 4

// Of returns the needs of a request. Pictures, sounds and documents count no tokens.
func Of(r *middle.Request) Needs {
	n := Needs{
		Output: r.MaxTokens, Tools: len(r.Tools) > 0 || r.Has(middle.Call) || r.Has(middle.Result), Images: r.Has(middle.Image), Audio: r.Has(middle.Audio),
		Files: r.Has(middle.File), JSONSchema: r.Output.Kind == "schema", fields: fieldsOf[r.From],
	}
	if n.fields == (fields{}) {
		n.fields = fields{"messages", "tools", "response_format", "max_tokens"}
	}
	bytes := len(r.Output.Schema)
	for _, t := range r.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range r.Messages {
		bytes += textBytes(m.Parts)
	}
	n.Tokens = int64(bytes / bytesPerToken)
	return n
}

func textBytes(parts []middle.Part) (n int) {
	for _, p := range parts {
		n += len(p.Text) + len(p.Name) + len(p.Arguments) + textBytes(p.Parts)
	}
	return n
}

// Lack is what a model cannot take of a request.
type Lack struct {
	Reason string // one word, of a short list, for metrics and logs
	Field  string // of the caller's request
	Msg    string // in words, such as "takes no pictures"
}

// Check returns what a model lacks first. ok is true if nothing is known to be missing.
func Check(c prices.Capabilities, n Needs) (l Lack, ok bool) {
	for _, need := range []struct {
		needed bool
		has    *bool
		lack   Lack
	}{
		{n.Tools, c.Tools, Lack{"tools", n.fields.tools, "takes no tools"}},
		{n.Images, c.Images, Lack{"images", n.fields.messages, "takes no pictures"}},
		{n.Audio, c.Audio, Lack{"audio", n.fields.messages, "takes no sound"}},
		{n.Files, c.Files, Lack{"files", n.fields.messages, "takes no documents"}},
		{n.JSONSchema, c.JSONSchema, Lack{"json_schema", n.fields.output, "cannot answer by a JSON schema"}},
	} {
		if need.needed && need.has != nil && !*need.has {
			return need.lack, false
		}
	}
	switch {
	case c.Output != nil && n.Output > *c.Output:
		return Lack{"output", n.fields.limit, fmt.Sprintf("answers with at most %d tokens, and %d are asked for", *c.Output, n.Output)}, false
	case c.Context != nil && n.Tokens > *c.Context:
		return Lack{"context", n.fields.messages, fmt.Sprintf("has a context of %d tokens, and the request about %d", *c.Context, n.Tokens)}, false
	case c.Context != nil && n.Tokens+n.Output > *c.Context:
		return Lack{"context", n.fields.limit, fmt.Sprintf("has a context of %d tokens, and the request about %d and %d for the answer", *c.Context, n.Tokens, n.Output)}, false
	}
	return Lack{}, true
}
