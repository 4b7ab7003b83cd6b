// Package outside runs readers on untrusted bytes: files that others wrote, answers of services. A library may panic on
// such bytes where it should return an error. The bytes are then at fault, not the program.
package outside

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a recovered panic of a reader.
type PanicError struct {
	Value any    // what the reader panicked with
	Stack []byte // of the goroutine, for debugging the reader
}

// Error says that the content is damaged and what the reader panicked with.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the content is damaged, its reader stopped: %v", e.Value)
}

// Unwrap returns the value of the panic if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Read calls a reader, and returns a *PanicError if it panics. It cannot recover panics in goroutines that the reader
// starts, exhausted memory or stack overflow: callers limit sizes and depth first.
func Read[T any](reader func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			var none T
			value, err = none, &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return reader()
}

// Check is Read for a reader that returns only an error.
func Check(reader func() error) error {
	_, err := Read(func() (struct{}, error) { return struct{}{}, reader() })
	return err
}
