package people

import (
	"encoding/json"
	"slices"
	"time"
)

// New is what a caller wants to know of people.
type New struct {
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice,omitempty"`   // "": not said
	Tags     []string        `json:"tags,omitempty"`     // what a person must know
	Question json.RawMessage `json:"question,omitempty"` // any JSON value; people see it
	Choices  []string        `json:"choices,omitempty"`  // the answers that are allowed; none: any text
	From     string          `json:"from,omitempty"`     // name of the caller's key
	Key      string          `json:"key,omitempty"`      // by which a retry is told from a new item; "": every one is new
	Note     json.RawMessage `json:"note,omitempty"`     // for the program that put it; people do not see it
}

// Item is something that waits for the answer of a person. It never changes: a change makes another one.
type Item struct {
	ID string `json:"id"`
	New
	Put       time.Time     `json:"put"`
	Expected  time.Duration `json:"expected,omitempty"` // time that an answer was expected to take, in nanoseconds
	Claim     *Claim        `json:"claim,omitempty"`    // the last one, also of an answered item
	Answer    *Answer       `json:"answer,omitempty"`   // nil: not answered
	Withdrawn *time.Time    `json:"withdrawn,omitempty"`
}

// Claim is an item in the hands of a person.
type Claim struct {
	Person string    `json:"person"`
	Token  string    `json:"token,omitempty"` // names the claim, so that a retry is told from another claim
	Day    string    `json:"day,omitempty"`   // whose time it uses
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Ended  bool      `json:"ended,omitempty"` // the item was answered, given back or withdrawn
	// Before is the time of the person's last claims of the item, which ran out or were given back, in nanoseconds.
	Before time.Duration `json:"before,omitempty"`
}

// Said is what a person says.
type Said struct {
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence,omitempty"` // from 0 to 1; nil: the person did not say
}

// Answer is what a person said.
type Answer struct {
	Said
	Person  string    `json:"person"`
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"` // for which the person had the item
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
	switch c := i.Claim; {
	case i.Answer != nil:
		return StateAnswered
	case i.Withdrawn != nil:
		return StateWithdrawn
	case c != nil && !c.Ended && now.Before(c.Until):
		return StateClaimed
	}
	return StateOpen
}

// finished is when the item was answered or withdrawn; nil: nothing of both.
func (i *Item) finished() *time.Time {
	if i.Answer != nil {
		return &i.Answer.Time
	}
	return i.Withdrawn
}

// same reports whether two callers want to know the same.
func (n *New) same(o *New) bool {
	return n.Expert == o.Expert && n.Advice == o.Advice && string(n.Question) == string(o.Question) &&
		slices.Equal(n.Tags, o.Tags) && slices.Equal(n.Choices, o.Choices)
}

func (s Said) same(o Said) bool {
	a, b := s.Confidence, o.Confidence
	return s.Text == o.Text && (a == b || a != nil && b != nil && *a == *b)
}

// took is the time for which the person has had the item, at a time or when the claim has ended. It is not negative, even if clocks are
// set back.
func (c *Claim) took(at time.Time) time.Duration {
	if at.After(c.Until) {
		at = c.Until
	}
	return c.Before + max(0, at.Sub(c.Since))
}

// end ends the claim of an item that is being changed, and returns the time that it did not need.
func (i *Item) end(at time.Time) (unused time.Duration) {
	c := i.Claim
	if c == nil || c.Ended {
		return 0
	}
	ended := *c
	ended.Ended = true
	if at.Before(c.Since) { // clocks were set back
		at = c.Since
	}
	if at.Before(c.Until) {
		ended.Until = at
	}
	i.Claim = &ended
	return c.Until.Sub(ended.Until)
}
