package policy

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
)

// ParseWithout returns which actions remain without some experts and advice. Each entry of without is "expert=NAME" or
// "advice=NAME". The result has J(K+1) entries, true for available actions that use none of these experts and advice.
// If a name is unknown, the error lists the known ones. It is an error too if no action remains.
func ParseWithout(a *costs.Actions, without []string) (available []bool, err error) {
	available = a.Mask()
	for _, w := range without {
		expert, advice, err := parseExclusion(a, w)
		if err != nil {
			return nil, err
		}
		for i := range available {
			if j, k := a.Pair(i); j == expert || k == advice {
				available[i] = false
			}
		}
	}
	if !slices.Contains(available, true) {
		return nil, fmt.Errorf("no action remains without %s", strings.Join(without, ", "))
	}
	return available, nil
}

// parseExclusion returns the index of the expert or advice that s names, and -1 for the other.
func parseExclusion(a *costs.Actions, w string) (expert, advice int, err error) {
	kind, name, ok := strings.Cut(w, "=")
	switch {
	case ok && kind == "expert":
		if expert = a.ExpertIndex(name); expert < 0 {
			return 0, 0, fmt.Errorf("unknown expert %q; known are %s", name, quoted(a.Experts, func(e costs.Expert) string { return e.Name }))
		}
		return expert, -1, nil
	case ok && kind == "advice":
		if advice = a.AdviceIndex(name); advice < 0 {
			return 0, 0, fmt.Errorf("unknown advice %q; known are %s", name, quoted(a.Advice, func(v costs.Advice) string { return v.Name }))
		}
		return -1, advice, nil
	}
	return 0, 0, fmt.Errorf("exclusion %q is neither expert=NAME nor advice=NAME", w)
}

func quoted[T any](items []T, name func(T) string) string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = fmt.Sprintf("%q", name(item))
	}
	return strings.Join(names, ", ")
}
