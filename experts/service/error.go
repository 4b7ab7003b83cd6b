package service

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is the reason why a service gave no answer. It quotes the service only
// briefly, and never contains the key.
type Error struct {
	URL    string
	Status int // HTTP status; 0: there was no usable answer
	Reason string
	Tries  int // attempts; 0: one, and a retry is useless
	hint   string

	again bool          // a retry may succeed
	after time.Duration // no retry before this time has passed
}

// Error returns the address and what went wrong.
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

// brief is a short form of the error.
func (e *Error) brief() string {
	if e.Status != 0 {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	words, _, _ := strings.Cut(e.Reason, ": ")
	return words
}

// Hint returns what to change, "" if that is not known.
func (e *Error) Hint() string {
	if e.hint == "" && e.again {
		return "finished work is kept: run the same command again when the service works"
	}
	return e.hint
}

// Advise adds what to change, and returns the error.
func (e *Error) Advise(hint string) *Error {
	e.hint = hint
	return e
}

// Retry marks the error as one after which a retry may succeed, but not before
// the given time has passed, and returns it. 0 is no such time.
func (e *Error) Retry(after time.Duration) *Error {
	e.again, e.after = true, after
	return e
}
