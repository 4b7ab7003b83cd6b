package queue

import (
	"encoding/json"
	"time"
)

// Item is something that waits for the answer of a person.
type Item struct {
	ID       string          `json:"id"`
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice,omitempty"` // "": not said
	Tags     []string        `json:"tags,omitempty"`   // what a person must know
	Question json.RawMessage `json:"question"`
	Choices  []string        `json:"choices,omitempty"` // the answers that are allowed; none: any text
	From     string          `json:"from,omitempty"`    // name of the caller's key
	Key      string          `json:"key,omitempty"`     // by which the caller tells a retry from a new item
	Note     json.RawMessage `json:"note,omitempty"`    // of the program that put it; people do not see it
	Put      time.Time       `json:"put"`
	Expected time.Duration   `json:"expected"` // time that an answer was expected to take, in nanoseconds

	Claim     *Claim     `json:"claim,omitempty"`  // the last one, also of an answered item
	Answer    *Answer    `json:"answer,omitempty"` // nil: not answered
	Withdrawn *time.Time `json:"withdrawn,omitempty"`
}

// Claim is an item in the hands of a person.
type Claim struct {
	Person string    `json:"person"`
	Token  string    `json:"token"` // names the claim, so that a retry is told from another claim
	Day    string    `json:"day"`   // whose time it uses
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Ended  bool      `json:"ended,omitempty"` // the item was answered, given back or withdrawn
	// Before is the time of the person's last claims of the item, which ran out or were given back, in nanoseconds.
	Before time.Duration `json:"before,omitempty"`
}

// Took is the time for which the person has had the item, at a time or when the claim has ended; 0 without a claim. It is not negative,
// even if clocks are set back.
func (c *Claim) Took(at time.Time) time.Duration {
	if c == nil {
		return 0
	}
	if at.After(c.Until) {
		at = c.Until
	}
	return c.Before + max(0, at.Sub(c.Since))
}

// Answer is what a person said.
type Answer struct {
	Text       string        `json:"text"`
	Confidence *float64      `json:"confidence,omitempty"` // from 0 to 1; nil: the person did not say
	Person     string        `json:"person"`
	Time       time.Time     `json:"time"`
	Took       time.Duration `json:"took"` // for which the person had the item, in nanoseconds
}

// State says where an item is.
type State string

// The states of an item.
const (
	StateOpen      State = "open"
	StateClaimed   State = "claimed"
	StateAnswered  State = "answered"
	StateWithdrawn State = "withdrawn"
)

// State returns the state of the item at a time: a claim ends by itself.
func (i *Item) State(now time.Time) State {
	switch {
	case i.Answer != nil:
		return StateAnswered
	case i.Withdrawn != nil:
		return StateWithdrawn
	case i.Claim.holds(now):
		return StateClaimed
	}
	return StateOpen
}

// Finished reports whether nothing more can become of the item, and since when.
func (i *Item) Finished() (at time.Time, yes bool) {
	switch {
	case i.Answer != nil:
		return i.Answer.Time, true
	case i.Withdrawn != nil:
		return *i.Withdrawn, true
	}
	return time.Time{}, false
}

// holds reports whether the claim keeps others away.
func (c *Claim) holds(now time.Time) bool { return c != nil && !c.Ended && now.Before(c.Until) }
