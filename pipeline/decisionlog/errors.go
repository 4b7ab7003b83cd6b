package decisionlog

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed means that the writer was closed.
	ErrClosed = errors.New("the decision log is closed")
	// ErrFull means that the queue for the disk has no room, with Settings.OnFull stop.
	ErrFull = errors.New("the decision log is full: the disk is slower than the decisions")
)

// StoppedError means that a record, with Settings.OnFull stop, or an outcome cannot be written. The log tries again by
// itself; an outcome has to be sent again.
type StoppedError struct{ Err error }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("the decision log cannot be written: %v", e.Err)
}
func (e *StoppedError) Unwrap() error { return e.Err }

// Hint says what the user can do.
func (e *StoppedError) Hint() string {
	return "free space on its disk; on_full: continue serves without a log"
}

// UnknownError means that the log has no decision with the id of an outcome.
type UnknownError struct {
	ID      string
	Sampled bool // sampling would leave the decision out, so it may have existed
}

func (e *UnknownError) Error() string {
	if e.Sampled {
		return fmt.Sprintf("the log has no decision %q; sampling leaves it out", e.ID)
	}
	return fmt.Sprintf("the log has no decision %q", e.ID)
}

// DuplicateError means that a record has the id of one of the last records. Ids of older ones are not compared.
type DuplicateError struct{ ID string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("decision %q is already in the log", e.ID)
}

// ConflictError means that a decision has another outcome already.
type ConflictError struct{ ID string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("decision %q has another outcome already", e.ID)
}
