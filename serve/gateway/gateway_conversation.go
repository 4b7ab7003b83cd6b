package gateway

import (
	"pipe/serve/decision"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
)

// conversationOf returns what a policy sees of a request. The error is a *decision.PromptError.
func conversationOf(r *protocol.Incoming) (decision.Messages, error) {
	if r.Format == protocol.Chat {
		raw := r.Field("messages")
		if raw == nil {
			return nil, &decision.PromptError{Reason: "are missing"}
		}
		return decision.ReadMessages(raw)
	}
	var all decision.Messages
	for _, m := range r.Middle().Messages {
		one := decision.Message{Role: m.Role}
		for _, p := range m.Parts {
			addPart(&one, p)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, &decision.PromptError{Reason: "are missing"}
	}
	return all, nil
}

// addPart adds the texts and images of a part.
func addPart(to *decision.Message, p middle.Part) {
	switch p.Kind {
	case middle.Text, middle.Refusal:
		to.Texts = append(to.Texts, p.Text)
	case middle.Image:
		to.Images = append(to.Images, p.Media.Link())
	case middle.Result:
		for _, in := range p.Parts {
			addPart(to, in)
		}
	}
}
