package oip

import (
	"errors"
	"fmt"
)

// Settings limit the size of requests.
type Settings struct {
	// MaxBody is the most bytes of a REST request, also after decompression.
	MaxBody int64 `yaml:"max_body"`
	// MaxRows is the most rows of one request.
	MaxRows int `yaml:"max_rows"`
}

// DefaultSettings allow 64 MiB and 65,536 rows.
func DefaultSettings() Settings { return Settings{MaxBody: 64 << 20, MaxRows: 1 << 16} }

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var problems []error
	if s.MaxBody < 1 || s.MaxBody > 1<<31-1 {
		problems = append(problems, fmt.Errorf("max_body %d is not from 1 to %d bytes", s.MaxBody, 1<<31-1))
	}
	if s.MaxRows < 1 || s.MaxRows > 1<<24 {
		problems = append(problems, fmt.Errorf("max_rows %d is not from 1 to %d", s.MaxRows, 1<<24))
	}
	return errors.Join(problems...)
}
