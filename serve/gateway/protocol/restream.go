package protocol

import "pipe/serve/gateway/protocol/middle"

// AsStream writes a whole answer in the caller's protocol as the stream that the request asks for: each part in one event. An error
// means that the answer has something that a stream has no place for.
func AsStream(to *Incoming, body []byte) ([]byte, error) {
	a, err := to.Format.Read(body)
	if err != nil {
		return nil, err
	}
	if len(a.Foreign) > 0 {
		return nil, a.Foreign[0]
	}
	s := &Stream{out: to.Format.Encoder(to), model: to.Model}
	events := []middle.Event{{Kind: middle.Start, ID: a.ID, Model: a.Model, Usage: a.Usage}}
	for _, p := range a.Parts {
		events = append(events, partEvents(p)...)
	}
	events = append(events, middle.Event{Kind: middle.End, Finish: a.Finish, StopSequence: a.StopSequence})
	if a.Usage.Reported {
		events = append(events, middle.Event{Kind: middle.Count, Usage: a.Usage})
	}
	return s.encode(append(events, middle.Event{Kind: middle.Done}))
}

// partEvents are the events of a part.
func partEvents(p middle.Part) (all []middle.Event) {
	begin, text := p, p.Text
	if begin.Text = ""; p.Kind == middle.Call {
		begin.Arguments, text = "", p.Arguments
	}
	signed := p.Kind == middle.Reasoning && p.Signature != "" && text != ""
	if signed {
		begin.Signature = ""
	}
	all = append(all, middle.Event{Kind: middle.Open, Part: begin})
	if text != "" {
		all = append(all, middle.Event{Kind: middle.Delta, Text: text})
	}
	if signed {
		all = append(all, middle.Event{Kind: middle.Sign, Text: p.Signature, Part: p})
	}
	return append(all, middle.Event{Kind: middle.Shut})
}
