// Package abstain answers a caller whose request nobody answers: the guarantee of the policy does not accept what an expert would say, and
// nobody takes over.
package abstain

import (
	"errors"
	"net/http"

	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
)

// Settings say what the caller gets.
type Settings struct {
	Text   string `yaml:"text"`   // answered in place of an expert; empty: the answer is an error
	Status int    `yaml:"status"` // of the error
}

// Default is an error that clients do not try again.
func Default() Settings { return Settings{Status: http.StatusUnprocessableEntity} }

// Validate reports every problem.
func (s Settings) Validate() error {
	var p config.Problems
	p.Check(s.Status >= http.StatusBadRequest && s.Status <= 599, "status: is %d, not an HTTP status of an error, 400 to 599", s.Status)
	return p.Err()
}

// Answer is the text of the settings as an answer in the protocol of a request, or as its stream. It is an error without a text, and in a
// protocol without answers of its own.
func (s Settings) Answer(to *protocol.Incoming, decision string) ([]byte, error) {
	if s.Text == "" {
		return nil, errors.New("there is no text")
	}
	body, err := to.Format.WriteAnswer(&middle.Answer{
		ID: "abstain-" + decision, Model: policy.Abstain, Finish: middle.Stop, Parts: []middle.Part{{Kind: middle.Text, Text: s.Text}},
	}, to)
	if err == nil && to.Stream {
		body, err = protocol.AsStream(to, body)
	}
	return body, err
}
