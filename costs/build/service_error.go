package build

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// EndpointError says why a service gave no answer. What it holds of the
// service's own words is short, and the key does not occur in it.
type EndpointError struct {
	URL    string
	Status int // of HTTP; 0: there was no usable answer
	Reason string
	Tries  int // 0: one, and no other was worth it
	hint   string

	again bool          // another attempt may do better
	after time.Duration // before which there should be none
}

// Error returns who was asked and what came of it.
func (e *EndpointError) Error() string {
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
func (e *EndpointError) brief() string {
	if e.Status != 0 {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	words, _, _ := strings.Cut(e.Reason, ": ")
	return words
}

// Hint tells what to change.
func (e *EndpointError) Hint() string {
	if e.hint == "" && e.again {
		return "what is done is kept: run the same command again when the service is well"
	}
	return e.hint
}

// advise adds what to change, and returns the error.
func (e *EndpointError) advise(hint string) *EndpointError {
	e.hint = hint
	return e
}

// retry makes the error one after which another attempt may do better, though not
// before some time has passed, and returns it.
func (e *EndpointError) retry(after time.Duration) *EndpointError {
	e.again, e.after = true, after
	return e
}
