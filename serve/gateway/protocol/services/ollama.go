package services

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Ollama is the protocol /api/chat.
type Ollama struct{}

// Name is ollama.
func (Ollama) Name() string { return "ollama" }

// ollamaOptions are fields of the object options.
var ollamaOptions = map[string]string{
	"temperature":       "temperature",
	"top_p":             "top_p",
	"top_k":             "top_k",
	"seed":              "seed",
	"presence_penalty":  "presence_penalty",
	"frequency_penalty": "frequency_penalty",
}

// Write writes a request.
func (Ollama) Write(m *middle.Request, t middle.Target) ([]byte, []string, error) {
	w := &ollamaWriter{names: callNames(m)}
	allowed := w.withoutHints(m)
	// Without truncate and shift, a conversation that is too long loses its beginning in silence.
	body := object{"model": t.Model, "messages": w.messages(m), "stream": m.Stream, "truncate": false, "shift": false}
	options := object{}
	if m.MaxTokens > 0 {
		options["num_predict"] = m.MaxTokens
	}
	if len(m.Stop) > 0 {
		options["stop"] = m.Stop
	}
	w.Options(allowed, options, func(name string) string { return ollamaOptions[name] })
	if len(options) > 0 {
		body["options"] = options
	}
	switch o := m.Output; o.Kind {
	case "json":
		body["format"] = "json"
	case "schema":
		body["format"] = o.Schema
	}
	w.thinking(m, body)
	w.tools(m, body)
	fillDeep(body, t.Fields)
	return w.Finish(body)
}

// ollamaWriter writes a request.
type ollamaWriter struct {
	writer
	names map[string]string // of the tools of calls, by id
}

// thinking writes whether to reason. Some models take the words low, medium and high, all others yes or no.
func (w *ollamaWriter) thinking(m *middle.Request, body object) {
	switch effort := w.Effort(m); effort {
	case "":
	case "none":
		body["think"] = false
	case "low", "medium", "high":
		body["think"] = effort
	case "minimal":
		body["think"] = "low"
		w.Note("the effort minimal became low")
	default:
		body["think"] = "high"
		w.Note("the effort " + effort + " became high")
	}
}

// tools writes the tools. The protocol cannot say that one must or must not be called.
func (w *ollamaWriter) tools(m *middle.Request, body object) {
	switch {
	case len(m.Tools) == 0:
		return
	case m.Choice.Mode == "none":
		w.Note("tools were left out, since none may be called")
		return
	case m.Choice.Mode == "required" || m.Choice.Mode == "tool":
		w.Refuse("tool_choice", "cannot require a call from experts of the kind ollama, which have no such setting")
	case m.Parallel != nil && !*m.Parallel:
		w.Refuse("parallel_tool_calls", "cannot be false for experts of the kind ollama, which have no such setting")
	}
	var list []object
	for _, t := range m.Tools {
		list = append(list, object{"type": "function", "function": t.Object("parameters")})
	}
	body["tools"] = list
}

// messages writes the conversation. A message has one text, with its images beside it.
func (w *ollamaWriter) messages(m *middle.Request) []object {
	all := []object{}
	for _, one := range m.Messages {
		if one.Name != "" {
			w.Note("names of participants were left out")
		}
		out := object{"role": one.Role}
		if one.Role == middle.Developer {
			out["role"] = middle.System
		}
		var texts, images []string
		var calls []object
		for _, p := range one.Parts {
			switch p.Kind {
			case middle.Text, middle.Refusal:
				texts = append(texts, p.Text)
			case middle.Image:
				if p.Media.Data == "" {
					w.Refuse("messages", "has an image by a link or the id of a file; experts of the kind ollama take only data")
				}
				images = append(images, p.Media.Data)
			case middle.Call:
				calls = append(calls, object{"id": p.ID, "type": "function", "function": object{"name": p.Name, "arguments": json.RawMessage(p.Arguments)}})
			case middle.Reasoning:
				if p.Signer != "ollama" && p.Signer != "chat" || p.Text == "" {
					w.Note("reasoning of another service was left out")
					continue
				}
				out["thinking"] = p.Text
			case middle.Result:
				all = append(all, w.result(p))
			default:
				w.Refuse("messages", "has %s, which experts of the kind ollama do not take", p.Kind.Words())
			}
		}
		if len(images) > 0 {
			out["images"] = images
		}
		if len(texts) > 1 {
			w.Note("the texts of a message were joined")
		}
		out["content"] = strings.Join(texts, "\n")
		out.AddList("tool_calls", calls)
		if one.Role != middle.ToolRole && (len(texts) > 0 || len(images) > 0 || calls != nil) {
			all = append(all, out)
		}
	}
	return all
}

// result writes the result of a call.
func (w *ollamaWriter) result(p middle.Part) object {
	text := w.resultText(p, "experts of the kind ollama")
	if p.Failed {
		text = "Error: " + text
		w.Note("is_error became the word Error in the result's text")
	}
	return object{"role": "tool", "content": text, "tool_call_id": p.ID, "tool_name": w.names[p.ID]}
}

// ollamaAnswer is an answer, or a line of a stream.
type ollamaAnswer struct {
	Model   string
	Message struct {
		Content, Thinking string
		Images            []string
		Calls             []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	Done   bool
	Reason string `json:"done_reason"`
	In     int64  `json:"prompt_eval_count"`
	Out    int64  `json:"eval_count"`
	Error  json.RawMessage
}

// usage are the tokens of an answer. The server does not say how many were cached: nobody pays for them.
func (a *ollamaAnswer) usage() middle.Usage {
	if a.In == 0 && a.Out == 0 {
		return middle.Usage{}
	}
	return middle.NewUsage(a.In, 0, a.Out, 0)
}

// finish is why an answer ended. The server says stop also where it calls tools.
func (a *ollamaAnswer) finish(called bool) middle.Finish {
	switch {
	case a.Reason == "length":
		return middle.Length
	case called:
		return middle.Calls
	}
	return middle.Stop
}

// calls are the calls of an answer.
func (a *ollamaAnswer) calls() (all []middle.Part) {
	for _, c := range a.Message.Calls {
		all = append(all, middle.Part{Kind: middle.Call, ID: cmp.Or(c.ID, newID("call_")), Name: c.Function.Name, Arguments: cmp.Or(string(c.Function.Arguments), "{}")})
	}
	return all
}

// Read reads a whole answer.
func (Ollama) Read(text []byte) (*middle.Answer, error) {
	o, err := jsonedit.Decode[ollamaAnswer](text)
	switch {
	case err != nil:
		return nil, err
	case !o.Done:
		return nil, errors.New("done is missing: the answer is not complete")
	}
	a := &middle.Answer{ID: newID("ollama-"), Model: o.Model, Usage: o.usage(), Parts: o.calls()}
	a.Finish = o.finish(len(a.Parts) > 0)
	if o.Message.Content != "" {
		a.Parts = append([]middle.Part{{Kind: middle.Text, Text: o.Message.Content}}, a.Parts...)
	}
	if o.Message.Thinking != "" {
		a.Parts = append([]middle.Part{{Kind: middle.Reasoning, Text: o.Message.Thinking, Signer: "ollama"}}, a.Parts...)
	}
	if len(o.Message.Images) > 0 {
		a.Foreign = append(a.Foreign, &middle.FieldError{Param: "message.images", Msg: "has no counterpart in another protocol"})
	}
	return a, nil
}

// Decoder reads a stream.
func (Ollama) Decoder() middle.Decoder { return &ollamaDecoder{} }

// ollamaDecoder reads lines, the last of which is done.
type ollamaDecoder struct {
	stepper
	started, called bool
}

// Decode reads a line.
func (d *ollamaDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	if !e.HasData {
		return []middle.Event{{Kind: middle.Life}}, nil
	}
	o, err := jsonedit.Decode[ollamaAnswer](e.Data)
	if err != nil {
		return nil, err
	}
	if len(o.Error) > 0 {
		p := problemOf(e.Data)
		return []middle.Event{{Kind: middle.Fail, Err: &p}}, nil
	}
	if !d.started {
		d.started = true
		d.add(middle.Event{Kind: middle.Start, ID: newID("ollama-"), Model: o.Model})
	}
	d.text(middle.Reasoning, "ollama", o.Message.Thinking)
	d.text(middle.Text, "", o.Message.Content)
	for _, c := range o.calls() {
		d.called = true
		d.call(c)
	}
	if len(o.Message.Images) > 0 {
		d.add(middle.Event{Kind: middle.Alien, Text: "message.images"})
	}
	if o.Done {
		if u := o.usage(); u.Reported {
			d.add(middle.Event{Kind: middle.Count, Usage: u})
		}
		d.end(o.finish(d.called))
		d.add(middle.Event{Kind: middle.Done})
	}
	return d.take(), nil
}

// End has nothing left: the last line ended the answer.
func (d *ollamaDecoder) End() []middle.Event { return nil }

// Last reports whether a line is the last one.
func (*ollamaDecoder) Last(e *sse.Event) bool {
	var o struct{ Done bool }
	return json.Unmarshal(e.Data, &o) == nil && o.Done
}

// Lines splits a stream into its lines, each of which is an event. Empty lines are left out.
type Lines struct {
	in   *bufio.Reader
	most int
}

// NewLines splits a stream into lines of at most the given number of bytes.
func NewLines(in io.Reader, most int) *Lines { return &Lines{bufio.NewReader(in), most} }

// Next returns the next line, as [sse.Reader.Next] does. The last one needs no line end if it is complete.
func (l *Lines) Next() (*sse.Event, error) {
	e := &sse.Event{}
	for {
		part, err := l.in.ReadSlice('\n')
		e.Raw = append(e.Raw, part...)
		if len(e.Raw) > l.most {
			return e, sse.ErrTooLong
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		e.Data = bytes.TrimSpace(e.Raw)
		e.HasData = len(e.Data) > 0
		switch {
		case errors.Is(err, io.EOF) && e.HasData && !json.Valid(e.Data):
			return e, io.ErrUnexpectedEOF
		case e.HasData && (err == nil || errors.Is(err, io.EOF)):
			return e, nil
		case err != nil:
			return e, err
		}
		e.Raw = e.Raw[:0]
	}
}
