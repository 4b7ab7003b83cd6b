package policy

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// What an exclusion or a fee is about.
const (
	kindExpert = "expert"
	kindAdvice = "advice"
	kindPair   = "pair"
)

// ParseWithout returns which actions remain without some experts, advice and pairs. Each entry of without is
// "expert=NAME", "advice=NAME" or "pair=EXPERT/ADVICE". The result has J(K+1) entries, true for available actions that
// use none of them. If a name is unknown, the error lists the known ones. It is an error too if an entry is there twice,
// or if no action remains.
func ParseWithout(a *costs.Actions, without []string) (available []bool, err error) {
	available = a.Mask()
	for n, w := range without {
		if slices.Contains(without[:n], w) {
			return nil, fmt.Errorf("exclusion %q is there twice", w)
		}
		if name, isPair := strings.CutPrefix(w, kindPair+"="); isPair {
			i, err := pairIndex(a, name)
			if err != nil {
				return nil, err
			}
			available[i] = false
			continue
		}
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

// pairIndex returns the action of that name, such as "large/search".
func pairIndex(a *costs.Actions, name string) (int, error) {
	names := a.Names()
	i := slices.Index(names, name)
	switch {
	case i < 0:
		return 0, fmt.Errorf("unknown pair %q; known are %s", name, textfile.Listed(names, 12))
	case slices.Contains(names[i+1:], name):
		return 0, fmt.Errorf("pair %q: two pairs have this name, because names contain a slash", name)
	}
	return i, nil
}

// parseExclusion returns the index of the expert or advice that s names, and -1 for the other.
func parseExclusion(a *costs.Actions, w string) (expert, advice int, err error) {
	kind, name, ok := strings.Cut(w, "=")
	switch {
	case ok && kind == kindExpert:
		if expert = a.ExpertIndex(name); expert < 0 {
			return 0, 0, fmt.Errorf("unknown expert %q; known are %s", name, quoted(a.Experts, func(e costs.Expert) string { return e.Name }))
		}
		return expert, -1, nil
	case ok && kind == kindAdvice:
		if advice = a.AdviceIndex(name); advice < 0 {
			return 0, 0, fmt.Errorf("unknown advice %q; known are %s", name, quoted(a.Advice, func(v costs.Advice) string { return v.Name }))
		}
		return -1, advice, nil
	}
	return 0, 0, fmt.Errorf("exclusion %q is neither expert=NAME, advice=NAME nor pair=EXPERT/ADVICE", w)
}

func quoted[T any](items []T, name func(T) string) string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = fmt.Sprintf("%q", name(item))
	}
	return strings.Join(names, ", ")
}
