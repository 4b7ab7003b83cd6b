package capability

import (
	"fmt"
	"slices"
	"strings"
)

// Lacking are the experts of a policy that cannot take a request, and why.
type Lacking struct {
	experts []string
	lacks   []Lack
}

// Add adds an expert.
func (l *Lacking) Add(expert string, lack Lack) {
	l.experts, l.lacks = append(l.experts, expert), append(l.lacks, lack)
}

// Any reports whether there is an expert.
func (l *Lacking) Any() bool { return len(l.experts) > 0 }

// Text is what the log has: each expert with the reason, as far as a record takes it.
func (l *Lacking) Text() (text string) {
	const most = 1000 // bytes
	for i, name := range l.experts {
		next := name + ": " + l.lacks[i].Reason
		if text != "" {
			next = text + ", " + next
		}
		if len(next) > most {
			return text + ", ..."
		}
		text = next
	}
	return text
}

// Error means that no expert of a policy can take a request.
type Error struct {
	Lacking
	Policy string
}

// Error names the experts and what each lacks.
func (e *Error) Error() string {
	const most = 8
	var out []string
	for i, name := range e.experts {
		if i == most {
			out = append(out, "...")
			break
		}
		out = append(out, name+" "+e.lacks[i].Msg)
	}
	return fmt.Sprintf("no expert of policy %q can take this request: %s", e.Policy, strings.Join(out, "; "))
}

// Field is the field of the request that all experts lack something for, or else the first.
func (e *Error) Field() string {
	i := slices.IndexFunc(e.lacks, func(l Lack) bool {
		return !slices.ContainsFunc(e.lacks, func(other Lack) bool { return other.Field != l.Field })
	})
	return e.lacks[max(i, 0)].Field
}
