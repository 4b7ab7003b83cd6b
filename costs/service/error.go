package service

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is the reason why a service gave no answer. What it holds of the
// service's own words is short, and the key does not occur in it.
type Error struct {
	URL    string
	Status int // of HTTP; 0: there was no usable answer
	Reason string
	Tries  int // 0: one, and no other was worth it
	hint   string

	again bool          // another attempt may do better
	after time.Duration // before which there should be none
}

// Error returns who was asked and what came of it.
func (e *Error) Error() string {
	s := "ask " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("HTTP %d %s: ", e.Status, http.StatusText(e.Status))
	}
	s += e.Reason
	if e.Tries > 1 {
		s += fmt.Sprintf(" (after %d attempts)", e.Tries)
	}
	return s
}

// brief is the fault in few words.
func (e *Error) brief() string {
	if e.Status != 0 {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	words, _, _ := strings.Cut(e.Reason, ": ")
	return words
}

// Hint returns what to change, "" if nothing is known.
func (e *Error) Hint() string {
	if e.hint == "" && e.again {
		return "what is done is kept: run the same command again when the service is well"
	}
	return e.hint
}

// Advise adds what to change, and returns the error.
func (e *Error) Advise(hint string) *Error {
	e.hint = hint
	return e
}

// Retry makes the error one after which another attempt may do better, though not
// before the given time has passed, and returns it. 0 is no such time.
func (e *Error) Retry(after time.Duration) *Error {
	e.again, e.after = true, after
	return e
}
