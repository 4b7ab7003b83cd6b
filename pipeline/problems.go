package pipeline

import (
	"errors"
	"fmt"
)

// problems collects everything that is wrong with a configuration.
type problems struct{ list []error }

// check notes a problem unless ok.
func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		p.list = append(p.list, fmt.Errorf(format, args...))
	}
}

// add notes an error unless it is nil.
func (p *problems) add(err error) {
	if err != nil {
		p.list = append(p.list, err)
	}
}

// err is all problems, nil if there are none.
func (p *problems) err() error { return errors.Join(p.list...) }
