package services

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Gemini is the protocol generateContent.
type Gemini struct{}

// Name is gemini.
func (Gemini) Name() string { return "gemini" }

// geminiOptions are fields of the generationConfig.
var geminiOptions = map[string]string{
	"temperature":       "temperature",
	"top_p":             "topP",
	"top_k":             "topK",
	"seed":              "seed",
	"presence_penalty":  "presencePenalty",
	"frequency_penalty": "frequencyPenalty",
}

// Write writes a request.
func (Gemini) Write(m *middle.Request, t middle.Target) ([]byte, []string, error) {
	w := &geminiWriter{names: callNames(m), signed: needsSignatures(t.Model)}
	options := w.withoutHints(m)
	w.withoutStrict(m)
	system, turns := w.turns(m)
	body := object{}
	if len(system) > 0 {
		body["systemInstruction"] = object{"parts": []object{{"text": strings.Join(system, "\n\n")}}}
	}
	contents := []object{}
	for _, turn := range turns {
		contents = append(contents, object{"role": map[bool]string{true: "model", false: "user"}[turn.model], "parts": w.parts(turn)})
	}
	body["contents"] = contents
	if config := w.config(m, options, t); len(config) > 0 {
		body["generationConfig"] = config
	}
	w.tools(m, body)
	fillDeep(body, t.Fields)
	return w.Finish(body)
}

// geminiWriter writes a request.
type geminiWriter struct {
	writer
	names  map[string]string // of the tools of calls, by id
	signed bool              // calls of tools must have a signature
}

// generations matches the models whose calls of tools are refused without a signature: those of the third generation on.
var generations = regexp.MustCompile(`gemini-([3-9]|[1-9][0-9])`)

func needsSignatures(model string) bool { return generations.MatchString(model) }

// noSignature is the signature that Google documents for calls that come without one, such as those of another model.
var noSignature = base64.StdEncoding.EncodeToString([]byte("skip_thought_signature_validator"))

// parts writes a turn. The signature of a call is a hidden reasoning before it.
func (w *geminiWriter) parts(t turn) []object {
	all := []object{}
	signature := ""
	for _, p := range t.parts {
		var out object
		switch p.Kind {
		case middle.Text, middle.Refusal:
			out = object{"text": p.Text}
		case middle.Image, middle.Audio, middle.File:
			if p.Media.Data == "" {
				w.Refuse("messages", "has %s by a link or the id of a file; experts of the kind gemini take only data", p.Kind.Words())
			}
			out = object{"inlineData": object{"mimeType": p.Media.Type, "data": p.Media.Data}}
		case middle.Call:
			call := object{"name": p.Name, "args": json.RawMessage(p.Arguments), "id": p.ID}
			out = object{"functionCall": call}
			if signature == "" && w.signed {
				signature = noSignature
			}
			out.AddText("thoughtSignature", signature)
			signature = ""
		case middle.Result:
			text := w.resultText(p, "experts of the kind gemini")
			field := map[bool]string{true: "error", false: "output"}[p.Failed]
			out = object{"functionResponse": object{"name": w.names[p.ID], "id": p.ID, "response": object{field: text}}}
		case middle.Reasoning:
			if p.Signer == "gemini" && p.Text == "" {
				signature = p.Signature
			} else {
				w.Note("reasoning of earlier answers was left out")
			}
			continue
		default:
			w.Refuse("messages", "has %s, which experts of the kind gemini do not take", p.Kind.Words())
		}
		all = append(all, out)
	}
	if len(all) == 0 {
		w.Refuse("messages", "has a message without content")
	}
	return all
}

// config writes limits, and the form of the answer.
func (w *geminiWriter) config(m *middle.Request, options []middle.Option, t middle.Target) object {
	c := object{}
	if m.MaxTokens > 0 {
		c["maxOutputTokens"] = m.MaxTokens
	}
	if len(m.Stop) > 0 {
		c["stopSequences"] = m.Stop
	}
	switch o := m.Output; o.Kind {
	case "json":
		c["responseMimeType"] = "application/json"
	case "schema":
		c["responseMimeType"], c["responseJsonSchema"] = "application/json", o.Schema
	}
	if thinking := w.thinking(m, t.Model); thinking != nil {
		c["thinkingConfig"] = thinking
	}
	w.Options(options, c, func(name string) string { return geminiOptions[name] })
	return c
}

// geminiBudgets are the tokens of reasoning that Google gives for a word in its own translation of OpenAI's requests.
var geminiBudgets = map[string]int64{"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}

// geminiLevels are the levels of reasoning of newer models.
var geminiLevels = map[string]string{"none": "minimal", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}

// thinking writes how much reasoning is asked for, nil if nothing is said.
func (w *geminiWriter) thinking(m *middle.Request, model string) object {
	switch {
	case m.Thinking > 0:
		return object{"thinkingBudget": m.Thinking, "includeThoughts": true}
	case m.Effort == "":
		return nil
	case needsSignatures(model):
		if geminiLevels[m.Effort] != m.Effort {
			w.Note("the effort " + m.Effort + " became " + geminiLevels[m.Effort])
		}
		return object{"thinkingLevel": geminiLevels[m.Effort], "includeThoughts": m.Effort != "none"}
	}
	w.Note("the effort " + m.Effort + " became a limit of tokens")
	return object{"thinkingBudget": geminiBudgets[m.Effort], "includeThoughts": m.Effort != "none"}
}

// tools writes the tools and how they may be called.
func (w *geminiWriter) tools(m *middle.Request, body object) {
	if len(m.Tools) == 0 {
		return
	}
	if m.Parallel != nil && !*m.Parallel {
		w.Refuse("parallel_tool_calls", "cannot be false for experts of the kind gemini, which have no such setting")
	}
	var list []object
	for _, t := range m.Tools {
		t.Strict = nil // the service has no such setting
		list = append(list, t.Object("parametersJsonSchema"))
	}
	body["tools"] = []object{{"functionDeclarations": list}}
	choice := object{}
	switch c := m.Choice; c.Mode {
	case "":
		return
	case "tool":
		choice["mode"], choice["allowedFunctionNames"] = "ANY", []string{c.Name}
	default:
		choice["mode"] = map[string]string{"auto": "AUTO", "none": "NONE", "required": "ANY"}[c.Mode]
	}
	body["toolConfig"] = object{"functionCallingConfig": choice}
}

// geminiAnswer is an answer, or an event of a stream.
type geminiAnswer struct {
	ID         string `json:"responseId"`
	Model      string `json:"modelVersion"`
	Candidates []struct {
		Content struct{ Parts []geminiPart }
		Reason  string `json:"finishReason"`
		Index   int
	}
	Feedback struct {
		Reason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *geminiUsage `json:"usageMetadata"`
	Error json.RawMessage
}

// geminiPart is a part of an answer.
type geminiPart struct {
	Text      string
	Thought   bool
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID, Name string
		Args     json.RawMessage
	} `json:"functionCall"`
	other string // the name of a field that has no place in the middle form
}

// geminiKnown are the fields of parts that are read, or that say nothing by themselves.
var geminiKnown = []string{"text", "thought", "thoughtSignature", "functionCall", "partMetadata", "mediaResolution", "videoMetadata"}

// UnmarshalJSON reads a part, and notes a field that is not known.
func (p *geminiPart) UnmarshalJSON(text []byte) error {
	type plain geminiPart
	if err := json.Unmarshal(text, (*plain)(p)); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for name, v := range fields {
		if !slices.Contains(geminiKnown, name) && string(v) != "null" {
			p.other = name
		}
	}
	return nil
}

// geminiUsage counts reasoning beside the answer, and what was cached as part of the prompt.
type geminiUsage struct {
	Prompt   int64 `json:"promptTokenCount"`
	Tools    int64 `json:"toolUsePromptTokenCount"`
	Cached   int64 `json:"cachedContentTokenCount"`
	Answer   int64 `json:"candidatesTokenCount"`
	Thoughts int64 `json:"thoughtsTokenCount"`
}

func (u *geminiUsage) middle() middle.Usage {
	if u == nil {
		return middle.Usage{}
	}
	return middle.NewUsage(u.Prompt+u.Tools, u.Cached, u.Answer+u.Thoughts, u.Thoughts)
}

// geminiFinish is why an answer ended; ok is false for reasons that mean that there is no answer.
func geminiFinish(reason string, called bool) (f middle.Finish, ok bool) {
	switch reason {
	case "STOP":
		if called {
			return middle.Calls, true
		}
		return middle.Stop, true
	case "MAX_TOKENS":
		return middle.Length, true
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return middle.Filter, true
	}
	return "", false
}

// Read reads a whole answer.
func (Gemini) Read(text []byte) (*middle.Answer, error) {
	g, err := jsonedit.Decode[geminiAnswer](text)
	if err != nil {
		return nil, err
	}
	a := &middle.Answer{ID: cmp.Or(g.ID, newID("gemini-")), Model: g.Model, Usage: g.Usage.middle()}
	switch {
	case len(g.Candidates) == 0 && g.Feedback.Reason != "":
		a.Finish = middle.Filter
		return a, nil
	case len(g.Candidates) == 0:
		return nil, errors.New("candidates is missing")
	case len(g.Candidates) > 1:
		a.Foreign = append(a.Foreign, &middle.FieldError{Param: "candidates[1]", Msg: "has no counterpart in another protocol"})
	}
	called := false
	for i, p := range g.Candidates[0].Content.Parts {
		if p.other != "" {
			a.Foreign = append(a.Foreign, &middle.FieldError{Param: fmt.Sprintf("candidates[0].content.parts[%d].%s", i, p.other), Msg: "has no counterpart in another protocol"})
			continue
		}
		a.Parts = append(a.Parts, p.middle()...)
		called = called || p.Call != nil
	}
	a.Parts = joined(a.Parts)
	var ok bool
	if a.Finish, ok = geminiFinish(g.Candidates[0].Reason, called); !ok {
		return nil, fmt.Errorf("the answer ended by %.40q", g.Candidates[0].Reason)
	}
	return a, nil
}

// middle returns the parts that a part stands for.
func (p *geminiPart) middle() []middle.Part {
	switch {
	case p.Call != nil:
		call := middle.Part{Kind: middle.Call, ID: cmp.Or(p.Call.ID, newID("call_")), Name: p.Call.Name, Arguments: cmp.Or(string(p.Call.Args), "{}")}
		if p.Signature != "" {
			return []middle.Part{{Kind: middle.Reasoning, Signature: p.Signature, Signer: "gemini"}, call}
		}
		return []middle.Part{call}
	case p.Text == "":
		return nil // only a signature, which may be left out where nothing is called
	case p.Thought:
		return []middle.Part{{Kind: middle.Reasoning, Text: p.Text, Signer: "gemini"}}
	}
	return []middle.Part{{Kind: middle.Text, Text: p.Text}}
}

// joined makes one part of texts that follow each other.
func joined(parts []middle.Part) (out []middle.Part) {
	for _, p := range parts {
		k := len(out) - 1
		if k >= 0 && out[k].Kind == p.Kind && p.Text != "" && p.Signature == "" && out[k].Signature == "" {
			out[k].Text += p.Text
			continue
		}
		out = append(out, p)
	}
	return out
}

// Decoder reads a stream.
func (Gemini) Decoder() middle.Decoder { return &geminiDecoder{} }

// geminiDecoder reads events, each of which is a part of an answer in the form of a whole one.
type geminiDecoder struct {
	stepper
	started, called bool
}

// Decode reads an event.
func (d *geminiDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	if !e.HasData {
		return []middle.Event{{Kind: middle.Life}}, nil
	}
	g, err := jsonedit.Decode[geminiAnswer](e.Data)
	if err != nil {
		return nil, err
	}
	if len(g.Error) > 0 {
		p := problemOf(e.Data)
		return []middle.Event{{Kind: middle.Fail, Err: &p}}, nil
	}
	if !d.started {
		d.started = true
		d.add(middle.Event{Kind: middle.Start, ID: cmp.Or(g.ID, newID("gemini-")), Model: g.Model})
	}
	if u := g.Usage.middle(); u.Reported {
		d.add(middle.Event{Kind: middle.Count, Usage: u})
	}
	if len(g.Candidates) == 0 && g.Feedback.Reason != "" {
		d.end(middle.Filter)
	}
	for _, c := range g.Candidates {
		if c.Index != 0 {
			return append(d.take(), middle.Event{Kind: middle.Alien, Text: "a second candidate"}), nil
		}
		for _, p := range c.Content.Parts {
			d.part(&p)
		}
		if c.Reason != "" {
			finish, ok := geminiFinish(c.Reason, d.called)
			if !ok {
				return append(d.take(), middle.Event{Kind: middle.Fail, Err: &middle.Problem{Message: "the answer ended by " + c.Reason}}), nil
			}
			d.end(finish)
		}
	}
	return d.take(), nil
}

// part reads a part.
func (d *geminiDecoder) part(p *geminiPart) {
	if p.other != "" {
		d.add(middle.Event{Kind: middle.Alien, Text: p.other})
	}
	for _, m := range p.middle() {
		switch {
		case m.Kind == middle.Call:
			d.called = true
			d.call(m)
		case m.Signature != "":
			d.hidden("gemini", m.Signature)
		default:
			d.text(m.Kind, m.Signer, m.Text)
		}
	}
}

// End has nothing left: the event with the reason ended the answer.
func (d *geminiDecoder) End() []middle.Event { return nil }

// Last is never known.
func (*geminiDecoder) Last(*sse.Event) bool { return false }
