package policy

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// The kinds of a [Part].
const (
	kindExpert = "expert"
	kindAdvice = "advice"
	kindPair   = "pair"
)

// Part names an expert, an advice, or a pair of both: what a fee is set for, or what must not be chosen. Make one with
// [Expert], [Advice], [Pair] or [ParsePart]. The zero Part names nothing. Its form as text, also in JSON, is that of
// [ParsePart].
type Part struct{ Kind, Name string }

// Expert is the expert of that name.
func Expert(name string) Part { return Part{kindExpert, name} }

// Advice is the advice of that name.
func Advice(name string) Part { return Part{kindAdvice, name} }

// Pair is the pair of that name, such as "large/search".
func Pair(name string) Part { return Part{kindPair, name} }

// ParsePart reads "expert=NAME", "advice=NAME" or "pair=EXPERT/ADVICE".
func ParsePart(text string) (Part, error) {
	kind, name, named := strings.Cut(text, "=")
	p := Part{kind, name}
	if !named || !p.isKnown() {
		return Part{}, notPart(text)
	}
	return p, nil
}

func notPart(text string) error {
	return fmt.Errorf("exclusion %q is neither expert=NAME, advice=NAME nor pair=EXPERT/ADVICE", text)
}

func (p Part) isKnown() bool {
	return p.Kind == kindExpert || p.Kind == kindAdvice || p.Kind == kindPair
}

// String is the text that [ParsePart] reads.
func (p Part) String() string { return p.Kind + "=" + p.Name }

// MarshalText returns the text that [ParsePart] reads.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePart].
func (p *Part) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePart(string(text))
	return err
}

// countParts is the number of experts, advice and pairs, which [Part.position] counts in this order.
func countParts(a *costs.Actions) int { return len(a.Experts) + len(a.Advice) + a.Len() }

// position is the number of a part among the experts, then the advice, then the pairs. If the name is unknown, the error
// lists the known ones.
func (p Part) position(a *costs.Actions) (int, error) {
	switch p.Kind {
	case kindExpert:
		if j := a.ExpertIndex(p.Name); j >= 0 {
			return j, nil
		}
		return 0, fmt.Errorf("unknown expert %q; known are %s", p.Name, quoted(a.Experts, func(e costs.Expert) string { return e.Name }))
	case kindAdvice:
		if k := a.AdviceIndex(p.Name); k >= 0 {
			return len(a.Experts) + k, nil
		}
		return 0, fmt.Errorf("unknown advice %q; known are %s", p.Name, quoted(a.Advice, func(v costs.Advice) string { return v.Name }))
	case kindPair:
		i, err := pairIndex(a, p.Name)
		return len(a.Experts) + len(a.Advice) + i, err
	}
	return 0, notPart(p.String())
}

// pairIndex returns the action of that name, such as "large/search".
func pairIndex(a *costs.Actions, name string) (int, error) {
	found := -1
	for cut, c := range name { // a name of an expert or advice may contain a slash too
		if c != '/' {
			continue
		}
		j, k := a.ExpertIndex(name[:cut]), a.AdviceIndex(name[cut+1:])
		switch {
		case j < 0 || k < 0:
		case found >= 0:
			return 0, fmt.Errorf("pair %q: two pairs have this name, because names contain a slash", name)
		default:
			found = a.Index(j, k)
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("unknown pair %q; known are %s", name, textfile.Listed(a.Names(), 12))
	}
	return found, nil
}

func quoted[T any](items []T, name func(T) string) string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = fmt.Sprintf("%q", name(item))
	}
	return strings.Join(names, ", ")
}
