package policy

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
)

// Without returns which actions remain without some experts, advice and pairs: J(K+1) entries, true for available actions
// that use none of them. If a name is unknown, the error lists the known ones. It is an error too if a part is listed twice,
// or if no action remains.
func Without(a *costs.Actions, parts []Part) (available []bool, err error) {
	available = a.Mask()
	if len(parts) == 0 {
		return available, nil
	}
	seen := make([]bool, countParts(a))
	experts, advice := seen[:len(a.Experts)], seen[len(a.Experts):]
	pairs := advice[len(a.Advice):]
	for _, p := range parts {
		at, err := p.position(a)
		if err != nil {
			return nil, err
		}
		if seen[at] {
			return nil, fmt.Errorf("exclusion %q is there twice", p)
		}
		seen[at] = true
	}
	for i := range available {
		j, k := a.Pair(i)
		available[i] = available[i] && !experts[j] && !advice[k] && !pairs[i]
	}
	if !slices.Contains(available, true) {
		return nil, fmt.Errorf("no action remains without %s", strings.Join(textsOf(parts), ", "))
	}
	return available, nil
}

func textsOf(parts []Part) []string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.String()
	}
	return texts
}
