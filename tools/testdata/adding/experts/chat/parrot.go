package chat

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/experts/language"
)

// parrot gives the same answer to everything.
type parrot struct {
	Says string `json:"says"`
}

func newParrot(_ context.Context, s *part.Setup, settings map[string]any) (Model, error) {
	m := &parrot{}
	return m, s.Settings(settings, m)
}

func (m *parrot) Complete(_ context.Context, batch []language.Conversation) ([]Completion, error) {
	answers := make([]Completion, len(batch))
	for n := range answers {
		answers[n].Text = m.Says
	}
	return answers, nil
}

func (m *parrot) Close() error { return nil }
