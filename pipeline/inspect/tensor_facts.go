package inspect

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
)

// factSummary is what is known of a fact of answers, over all rows and the pairs that are available.
type factSummary struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Known  int          `json:"known"` // cells
	Cells  int          `json:"cells"`
	Least  *float32     `json:"least,omitempty"` // of numbers
	Most   *float32     `json:"most,omitempty"`
	Values int          `json:"values,omitempty"` // of texts: how many differ
	Common []valueCount `json:"common,omitempty"` // the most common of them
}

// valueCount is how often a value occurs.
type valueCount struct {
	Value string `json:"value"`
	Cells int    `json:"cells"`
}

func factsOf(t *costs.Tensor) (all []factSummary) {
	mask := t.Actions.Mask()
	for _, f := range t.Facts {
		s := factSummary{Name: f.Name, Kind: f.Kind()}
		counts := make([]int, len(f.Values))
		for i, v := range f.Data {
			if !mask[i%len(mask)] {
				continue
			}
			s.Cells++
			switch {
			case v != v:
				continue
			case f.Category():
				counts[int(v)]++
			case s.Known == 0:
				s.Least, s.Most = new(v), new(v)
			default:
				*s.Least, *s.Most = min(*s.Least, v), max(*s.Most, v)
			}
			s.Known++
		}
		s.count(f.Values, counts)
		all = append(all, s)
	}
	return all
}

// count counts the values that occur and keeps the most common ones.
func (s *factSummary) count(values []string, counts []int) {
	const shown = 5
	for i, n := range counts {
		if n > 0 {
			s.Common = append(s.Common, valueCount{values[i], n})
		}
	}
	s.Values = len(s.Common)
	slices.SortStableFunc(s.Common, func(a, b valueCount) int { return b.Cells - a.Cells })
	s.Common = s.Common[:min(shown, s.Values)]
}

// String says it in a line.
func (s factSummary) String() string {
	text := fmt.Sprintf("%s: %s", s.Name, s.Kind)
	switch {
	case s.Known == 0:
		return text + ", not known of any answer"
	case s.Least != nil:
		text += fmt.Sprintf(" from %.4g to %.4g", *s.Least, *s.Most)
	default:
		var common []string
		for _, c := range s.Common {
			common = append(common, fmt.Sprintf("%q %d", c.Value, c.Cells))
		}
		if more := s.Values - len(common); more > 0 {
			common = append(common, fmt.Sprintf("and %d more values", more))
		}
		text += " " + strings.Join(common, ", ")
	}
	if s.Known < s.Cells {
		text += fmt.Sprintf("; known of %d of %d answers", s.Known, s.Cells)
	}
	return text
}

// writeFacts writes what may be seen of answers.
func (e *tensorExplanation) writeFacts(b *safetext.Fields) {
	heading := "seen of answers"
	for _, f := range e.Facts {
		b.Add(heading, "%s", f)
		heading = ""
	}
}
