package stage

import (
	"fmt"
	"strings"

	"pipe/internal/config"
	"pipe/internal/filelock"
)

// InUseError means that another run is writing into the same folder.
type InUseError = filelock.InUseError

// ConfigError lists all problems of a configuration file.
type ConfigError = config.Error

// OptionError means that an option does not fit the files that it is used with.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *OptionError) Unwrap() error { return e.Err }

// UnknownError means that a name is not in a fixed list.
type UnknownError struct {
	What  string
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q; known are %s", e.What, e.Name, strings.Join(e.Known, ", "))
}
