package gateway

import (
	"fmt"
	"slices"
	"strings"

	"pipe/serve/gateway/capability"
)

// lacking are the experts of a policy that cannot take a request, and why.
type lacking struct {
	experts []string
	lacks   []capability.Lack
}

func (l *lacking) add(expert string, lack capability.Lack) {
	l.experts, l.lacks = append(l.experts, expert), append(l.lacks, lack)
}

// text is what the log has: each expert with the reason, as far as a record takes it.
func (l *lacking) text() (text string) {
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

// incapableError means that no expert of a policy can take a request.
type incapableError struct {
	lacking
	Policy string
}

// Error names the experts and what each lacks.
func (e *incapableError) Error() string {
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

// field is the field of the request that all experts lack something for, or else the first.
func (e *incapableError) field() string {
	i := slices.IndexFunc(e.lacks, func(l capability.Lack) bool {
		return !slices.ContainsFunc(e.lacks, func(other capability.Lack) bool { return other.Field != l.Field })
	})
	return e.lacks[max(i, 0)].Field
}
