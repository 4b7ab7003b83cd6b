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

func (e *endpoint) fault(status int, format string, args ...any) *EndpointError {
	return &EndpointError{URL: e.url, Status: status, Reason: fmt.Sprintf(format, args...)}
}

func (e *EndpointError) advise(hint string) *EndpointError {
	e.hint = hint
	return e
}

func (e *EndpointError) retry(after time.Duration) *EndpointError {
	e.again, e.after = true, after
	return e
}

// refused judges a response that is no answer.
func (e *endpoint) refused(r *http.Response, key secret, text []byte) error {
	code := r.StatusCode
	fault := e.fault(code, "%s", key.excerpt(text))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.cfg.Key == "" {
			return fault.advise("the service wants a key: put it into an environment variable and name that in the setting key")
		}
		return fault.advise("the service does not accept the key in the environment variable " + e.cfg.Key)
	case code == http.StatusNotFound:
		return fault.advise("check base_url, which ends before /chat/completions, and whether the service has the model")
	case code >= 300 && code < 400:
		return fault.advise("the service points to another place, where nothing is sent: set base_url to it")
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code >= 500:
		return fault.later(r.Header)
	}
	return fault.advise("check model, max_tokens, temperature and extra against what the service takes")
}
