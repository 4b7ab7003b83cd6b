package chat

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/experts/language"
)

// causalChat answers with a causal language model, by greedy decoding.
type causalChat struct {
	*language.Causal
	most int // tokens of an answer
}

type causalChatSettings struct {
	language.CausalSettings
	Most int `json:"max_new_tokens"`
}

func newCausalChat(ctx context.Context, s *part.Setup, settings map[string]any) (Model, error) {
	cfg := causalChatSettings{CausalSettings: language.DefaultCausalSettings(), Most: 64}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Most < 1 {
		return nil, fmt.Errorf("max_new_tokens is %d", cfg.Most)
	}
	model, err := language.OpenCausal(ctx, s, &cfg.CausalSettings)
	if err != nil {
		return nil, err
	}
	return &causalChat{model, cfg.Most}, nil
}

// Complete answers one conversation after the other.
func (m *causalChat) Complete(ctx context.Context, batch []language.Conversation) ([]Completion, error) {
	out := make([]Completion, len(batch))
	for n, talk := range batch {
		var err error
		if out[n].Text, err = m.Answer(ctx, talk, m.most); err != nil {
			return nil, &conversationError{n, err}
		}
	}
	return out, nil
}
