package gateway

import (
	"net/http"
	"strings"
)

// wishError means that what a request changes of its decision does not fit the policy.
type wishError struct {
	from []string // the headers and the field that say it
	err  error
}

// Error says where the wishes are and what is wrong.
func (e *wishError) Error() string { return strings.Join(e.from, ", ") + ": " + e.err.Error() }

// Unwrap returns the underlying error.
func (e *wishError) Unwrap() error { return e.err }

func (e *wishError) failure() *failure {
	return &failure{http.StatusBadRequest, invalidRequest, "wrong_prices", e.from[0], e.Error()}
}
