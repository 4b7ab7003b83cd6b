package services

import (
	"encoding/json"
	"slices"
	"strings"

	"pipe/serve/gateway/protocol/middle"
)

// writer has what the writers of these protocols have in common.
type writer struct{ middle.Writer }

// turn is what one side says, in protocols where the sides alternate: results of tools are the user's.
type turn struct {
	model bool
	parts []middle.Part
}

// turns groups the messages of a request, and returns the texts of the system apart.
func (w *writer) turns(m *middle.Request) (system []string, all []turn) {
	for _, one := range m.Messages {
		if one.Role == middle.System || one.Role == middle.Developer {
			for _, p := range one.Parts {
				if p.Kind != middle.Text {
					w.Refuse("messages", "has %s in a message of the system; this expert takes only text there", p.Kind.Words())
				}
				system = append(system, p.Text)
			}
			if len(all) > 0 {
				w.Note("a message of the system within the conversation was put at its beginning")
			}
			continue
		}
		if one.Name != "" {
			w.Note("names of participants were left out")
		}
		model := one.Role == middle.Assistant
		if k := len(all) - 1; k >= 0 && all[k].model == model {
			all[k].parts = append(all[k].parts, one.Parts...)
			continue
		}
		all = append(all, turn{model, append([]middle.Part(nil), one.Parts...)})
	}
	return system, all
}

// cacheHints are options that only help a service to keep its cache and to tell users apart.
var cacheHints = []string{"prompt_cache_key", "prompt_cache_retention", "safety_identifier"}

// withoutHints returns the options of a request without these, for services that have none of them. It notes what is left out.
func (w *writer) withoutHints(m *middle.Request) (options []middle.Option) {
	for _, o := range m.Options {
		if slices.Contains(cacheHints, o.Name) {
			w.Note(o.Field + " was left out")
			continue
		}
		options = append(options, o)
	}
	if m.User != "" {
		w.Note("the user was left out")
	}
	for _, one := range m.Messages {
		for _, p := range one.Parts {
			if p.Media.Detail != "" && p.Media.Detail != "auto" {
				w.Note("the detail of images was left out")
			}
			if p.Media.Name != "" {
				w.Note("names of files were left out")
			}
		}
	}
	return options
}

// withoutStrict notes that tools must not match their schema, for services that have no such setting.
func (w *writer) withoutStrict(m *middle.Request) {
	for _, t := range m.Tools {
		if t.Strict != nil && *t.Strict {
			w.Note("tools.strict was left out")
		}
	}
}

// fillDeep adds default values for fields that a request does not have, also within objects that both have.
func fillDeep(body object, fields map[string]json.RawMessage) {
	for name, v := range fields {
		in, both := body[name].(object)
		var more map[string]json.RawMessage
		if both && json.Unmarshal(v, &more) == nil {
			fillDeep(in, more)
		} else if _, has := body[name]; !has {
			body[name] = v
		}
	}
}

// resultText is the text of the result of a tool. what names the experts that take nothing else.
func (w *writer) resultText(p middle.Part, what string) string {
	texts := make([]string, 0, len(p.Parts))
	for _, in := range p.Parts {
		if in.Kind != middle.Text {
			w.Refuse("messages", "has a result of a tool with %s; %s take only text there", in.Kind.Words(), what)
		}
		texts = append(texts, in.Text)
	}
	return strings.Join(texts, "\n")
}

// callNames are the names of the tools of all calls, by the id of the call.
func callNames(m *middle.Request) map[string]string {
	names := map[string]string{}
	for _, one := range m.Messages {
		for _, p := range one.Parts {
			if p.Kind == middle.Call {
				names[p.ID] = p.Name
			}
		}
	}
	return names
}

// stepper writes the events of parts that come in pieces, and opens and shuts parts where the kind changes.
type stepper struct {
	open  middle.PartKind // "": none
	out   []middle.Event
	ended bool
}

// text continues the open part, or begins one.
func (s *stepper) text(kind middle.PartKind, signer, text string) {
	if text == "" {
		return
	}
	if s.open != kind {
		s.begin(middle.Part{Kind: kind, Signer: signer})
	}
	s.out = append(s.out, middle.Event{Kind: middle.Delta, Text: text})
}

// call is a whole call of a tool.
func (s *stepper) call(p middle.Part) {
	s.begin(middle.Part{Kind: middle.Call, ID: p.ID, Name: p.Name})
	s.out = append(s.out, middle.Event{Kind: middle.Delta, Text: p.Arguments})
	s.shut()
}

// hidden is a reasoning without text, of which only the signature is there.
func (s *stepper) hidden(signer, signature string) {
	s.begin(middle.Part{Kind: middle.Reasoning, Signer: signer})
	s.out = append(s.out, middle.Event{Kind: middle.Sign, Text: signature, Part: middle.Part{Signer: signer}})
	s.shut()
}

func (s *stepper) begin(p middle.Part) {
	s.shut()
	s.open = p.Kind
	s.out = append(s.out, middle.Event{Kind: middle.Open, Part: p})
}

func (s *stepper) shut() {
	if s.open != "" {
		s.open = ""
		s.out = append(s.out, middle.Event{Kind: middle.Shut})
	}
}

// end ends the answer, once.
func (s *stepper) end(f middle.Finish) {
	s.shut()
	if !s.ended {
		s.ended = true
		s.add(middle.Event{Kind: middle.End, Finish: f})
	}
}

func (s *stepper) add(e middle.Event) { s.out = append(s.out, e) }

// take returns the events until now.
func (s *stepper) take() []middle.Event {
	out := s.out
	s.out = nil
	return out
}
