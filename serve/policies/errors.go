package policies

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is the error of a closed set.
var ErrClosed = errors.New("the policies are closed")

// UnknownError means that there is no policy, or no version of a policy, with a name.
type UnknownError struct {
	Name  string   // as requested; empty: no name was given, and there is no default
	Known []string // names of the policies
}

func (e *UnknownError) Error() string {
	known := strings.Join(e.Known, ", ")
	if e.Name == "" {
		return "no policy is named, and there is no default; known are " + known
	}
	return fmt.Sprintf("unknown policy %q; known are %s", e.Name, known)
}

// OverloadError means that too many rows are waiting. The client can retry later.
type OverloadError struct {
	Stage string        // encode or decide
	Rows  int           // that wait
	After time.Duration // after which a retry may succeed
}

func (e *OverloadError) Error() string {
	return fmt.Sprintf("%s: too many requests: %d rows are waiting", e.Stage, e.Rows)
}

// RetryAfter is after how long a retry may succeed.
func (e *OverloadError) RetryAfter() time.Duration { return e.After }

// Hint says what can be done.
func (e *OverloadError) Hint() string {
	return "send fewer requests at once, or raise queue_rows and the number of cores"
}

// TensorError means that a tensor of a request does not fit the graph of a policy.
type TensorError struct {
	Name string // of the input or output
	Err  error
}

func (e *TensorError) Error() string { return fmt.Sprintf("tensor %q: %v", e.Name, e.Err) }

// Unwrap returns the underlying error.
func (e *TensorError) Unwrap() error { return e.Err }

// InputsError means that a request does not have exactly one kind of input, or has no rows.
type InputsError struct{ Msg string }

func (e *InputsError) Error() string { return e.Msg }

// PriceFileError means that the price file of a set does not fit a policy.
type PriceFileError struct {
	File, Policy string
	Err          error
}

func (e *PriceFileError) Error() string {
	return fmt.Sprintf("prices %q: policy %q: %v", e.File, e.Policy, e.Err)
}

// Unwrap returns the underlying error.
func (e *PriceFileError) Unwrap() error { return e.Err }
