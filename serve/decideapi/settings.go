package decideapi

import (
	"errors"
	"fmt"
)

// Settings bound the requests.
type Settings struct {
	Body     int64 `yaml:"body"`     // most bytes of the body of a request
	Rows     int   `yaml:"rows"`     // most rows of a request to decide on
	Outcomes int   `yaml:"outcomes"` // most outcomes of a request
}

// DefaultSettings fit images, and batches of a few thousand rows of features.
func DefaultSettings() Settings { return Settings{Body: 32 << 20, Rows: 4096, Outcomes: 10000} }

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var problems []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	add(s.Body < 1<<10 || s.Body > 1<<30, "body %d is not from %d to %d bytes", s.Body, 1<<10, 1<<30)
	add(s.Rows < 1 || s.Rows > 1<<20, "rows %d is not from 1 to %d", s.Rows, 1<<20)
	add(s.Outcomes < 1 || s.Outcomes > 1<<20, "outcomes %d is not from 1 to %d", s.Outcomes, 1<<20)
	return errors.Join(problems...)
}
