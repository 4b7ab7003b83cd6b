package middle

import (
	"encoding/json"
	"fmt"
	"slices"

	"pipe/serve/gateway/jsonedit"
)

// FieldError means that a field of a request or an answer cannot be used.
type FieldError = jsonedit.FieldError

// FieldErrorf is a FieldError whose message is formatted.
func FieldErrorf(param, format string, args ...any) *FieldError {
	return &FieldError{Param: param, Msg: fmt.Sprintf(format, args...)}
}

// Request is a request for an answer of a model.
type Request struct {
	From      string // the protocol of the caller, such as chat
	Model     string
	Stream    bool
	Messages  []Message
	Tools     []NamedSchema // functions that the model can call, with the schemas of their arguments
	Choice    Choice
	Parallel  *bool // whether an answer may have several calls of tools; nil: not said
	Output    Output
	MaxTokens int64 // of the answer with its reasoning; 0: not said
	Stop      []string
	Effort    string // none, minimal, low, medium, high, xhigh or max; "": not said
	Thinking  int64  // most tokens of reasoning; 0: not said
	User      string // who the caller acts for
	Options   []Option
	Left      []string      // fields that were left out by a rule, in words
	Malformed []*FieldError // fields that no service could use, in the order of the request
	Foreign   []*FieldError // fields that have no place in this form
}

// Option is a field whose value has the same meaning in several protocols. Numbers keep their digits.
type Option struct {
	Name  string // by which protocols agree on the meaning, such as temperature
	Field string // its name in the caller's request
	Value json.RawMessage
}

// The roles of messages.
const (
	System    = "system"
	Developer = "developer"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool" // its parts are results of tools
)

// Message is a message of a conversation.
type Message struct {
	Role  string
	Name  string // of the participant, "" if not said
	Parts []Part
}

// PartKind is what a part of a message is.
type PartKind string

// The kinds of parts.
const (
	Text      PartKind = "text"
	Image     PartKind = "image"
	Audio     PartKind = "audio"
	File      PartKind = "file"
	Call      PartKind = "call"      // of a tool, by the model
	Result    PartKind = "result"    // of a call
	Reasoning PartKind = "reasoning" // of the model
	Refusal   PartKind = "refusal"   // of the model, in words
	Other     PartKind = "other"     // has no place in this form
)

// Words names a part of the kind in a sentence.
func (k PartKind) Words() string {
	switch k {
	case Image:
		return "an image"
	case Audio:
		return "a sound"
	case File:
		return "a file"
	}
	return "a part of the kind " + string(k)
}

// Part is a part of a message or of an answer. Which fields it has depends on its kind.
type Part struct {
	Kind      PartKind
	Text      string // of a text, a reasoning or a refusal
	Media     Media  // of an image, a sound or a file
	ID        string // of a call; of a result: that of its call
	Name      string // of the tool of a call
	Arguments string // of a call: a JSON object as text
	Parts     []Part // of a result
	Failed    bool   // a result says that its call failed
	// Signature lets the service of Signer check a reasoning when it is sent back. A reasoning without a text is hidden: its
	// signature is all of it.
	Signature, Signer string
	Type              string // of an Other: its name in its protocol
}

// Media is the content of an image, a sound or a file: data in base64, or a link, or an id at the service.
type Media struct {
	Type   string // such as image/png; "" if not said
	Data   string // base64
	URL    string
	FileID string
	Name   string // of the file
	Detail string // how closely an image is looked at: low, high or auto
}

// Link is the link of a media, or its data as a data URL.
func (m Media) Link() string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + m.Type + ";base64," + m.Data
}

// NamedSchema is a JSON schema with a name: of the arguments of a tool, or of an answer.
type NamedSchema struct {
	Name, Description string
	Schema            json.RawMessage // nil: none is given
	Strict            *bool           // the model must keep to the schema; nil: not said
}

// Choice says which tools may be called.
type Choice struct {
	Mode string // "" (not said), auto, none, required, or tool
	Name string // of the tool, for the mode tool
}

// Output is the form of an answer.
type Output struct {
	Kind string // "" (not said), text, json (any object), or schema
	NamedSchema
}

// Untranslatable is the error for the first field that cannot be translated, a *FieldError; nil: there is none.
func (r *Request) Untranslatable() error {
	if all := slices.Concat(r.Malformed, r.Foreign); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Insert inserts a message before the one with an index.
func (r *Request) Insert(index int, m Message) {
	r.Messages = slices.Insert(slices.Clone(r.Messages), min(max(index, 0), len(r.Messages)), m)
}

// LastUser is the index of the last message of a user, -1 if there is none.
func (r *Request) LastUser() int {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == User {
			return i
		}
	}
	return -1
}

// Has reports whether a part of a message is of a kind.
func (r *Request) Has(kind PartKind) bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool {
		return slices.ContainsFunc(m.Parts, func(p Part) bool {
			return p.Kind == kind || slices.ContainsFunc(p.Parts, func(in Part) bool { return in.Kind == kind })
		})
	})
}

// ToolLoopOpen reports whether calls of tools wait for the model: its last message has calls, and either nothing follows, or
// results do, with or without words of the user. A user who goes on without the results ends the loop.
func (r *Request) ToolLoopOpen() bool {
	is := func(kind PartKind) func(Part) bool { return func(p Part) bool { return p.Kind == kind } }
	last := -1
	for i, m := range r.Messages {
		if m.Role == Assistant {
			last = i
		}
	}
	if last < 0 || !slices.ContainsFunc(r.Messages[last].Parts, is(Call)) {
		return false
	}
	after := r.Messages[last+1:]
	return len(after) == 0 || slices.ContainsFunc(after, func(m Message) bool { return slices.ContainsFunc(m.Parts, is(Result)) })
}

// WantsJSON reports whether the answer must be JSON.
func (r *Request) WantsJSON() bool { return r.Output.Kind == "json" || r.Output.Kind == "schema" }

// CheckTools lists results without a call, and calls that an earlier one has the id of. where names the message and part.
func (r *Request) CheckTools(where func(message, part int) string) {
	seen := map[string]bool{}
	for i, m := range r.Messages {
		for k, p := range m.Parts {
			switch {
			case p.Kind == Call && seen[p.ID]:
				r.Malformed = append(r.Malformed, &FieldError{Param: where(i, k), Msg: "has the id of an earlier call"})
			case p.Kind == Call:
				seen[p.ID] = true
			case p.Kind == Result && !seen[p.ID]:
				r.Malformed = append(r.Malformed, &FieldError{Param: where(i, k), Msg: "is the result of a call that no earlier message has"})
			}
		}
	}
}

// Target says for which service a request is written.
type Target struct {
	Model  string                     // its name there
	Usage  bool                       // ask for the usage of a stream, where the protocol has a field for it
	Fields map[string]json.RawMessage // default values for fields that the request does not have, in the service's protocol
}
