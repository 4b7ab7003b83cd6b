// Package outside runs readers over bytes that came from outside: files that
// others wrote, answers of services. A library may panic on such bytes where it
// should return an error; the bytes are then at fault, not the program.
package outside

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of a reader, caught.
type PanicError struct {
	Value any    // what the reader panicked with
	Stack []byte // of the goroutine, for whoever mends the reader
}

// Error says that the content is at fault and what the reader panicked with.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the content is damaged, its reader stopped: %v", e.Value)
}

// Unwrap returns the value of the panic if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Read calls a reader, and returns a *PanicError where it panics. It catches no
// panic of a goroutine that the reader starts, and neither exhausted memory nor
// a stack that is too deep: callers bound sizes and depth first.
func Read[T any](reader func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			var none T
			value, err = none, &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return reader()
}

// Check is Read for a reader that returns nothing but an error.
func Check(reader func() error) error {
	_, err := Read(func() (struct{}, error) { return struct{}{}, reader() })
	return err
}
