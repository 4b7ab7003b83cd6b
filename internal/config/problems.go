package config

import (
	"errors"
	"fmt"
	"strings"
)

// Problems collects the problems of a configuration.
type Problems struct{ list []error }

// Check adds a problem unless ok.
func (p *Problems) Check(ok bool, format string, args ...any) {
	if !ok {
		p.list = append(p.list, fmt.Errorf(format, args...))
	}
}

// Add adds an error unless it is nil.
func (p *Problems) Add(err error) {
	if err != nil {
		p.list = append(p.list, err)
	}
}

// Err joins all problems; nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.list...) }

// Lines returns one line per error of an errors.Join tree; none for nil.
func Lines(err error) []string {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range many.Unwrap() {
			lines = append(lines, Lines(e)...)
		}
		return lines
	}
	return []string{err.Error()}
}

// Under puts the name of a section before every problem of its settings.
func Under(section string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, line := range Lines(err) {
		errs = append(errs, errors.New(section+"."+line))
	}
	return errors.Join(errs...)
}

// IsName reports whether a setting can be used in file names: letters, digits and _.
func IsName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
