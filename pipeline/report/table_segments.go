package report

import (
	"fmt"
	"strconv"
	"strings"
)

// segmentTable is about one policy.
func (s *Segments) table() table {
	t := table{
		title: fmt.Sprintf("Where %s helps and harms: lambda %s", s.Policy, fixed(s.Lambda, -1)), left: 2, place: onSegments, folded: true,
		head: []string{"by", "segment", "rows", "saved (95%)", "effect", "finding", "chosen"}, caption: s.caption(),
	}
	for _, g := range s.Segments {
		saved := fixed(g.Mean, 4)
		if g.Saved != nil {
			saved = Amount(*g.Saved)
		}
		var chosen []string
		for _, p := range g.Chosen {
			chosen = append(chosen, fmt.Sprintf("%s %s%%", p.Pair, fixed(100*p.Share, 0)))
		}
		t.rows = append(t.rows, []string{g.By, g.named(), strconv.Itoa(g.Rows), saved, fixed(g.Effect, 4), g.Finding, strings.Join(chosen, ", ")})
	}
	t.dropEmpty()
	return t
}

// named is the segment with what it is like.
func (g *Segment) named() string {
	switch {
	case g.Like != "":
		return fmt.Sprintf("%s, like %s", g.Name, g.Like)
	case g.Merged > 0:
		return fmt.Sprintf("%s (%d small ones)", g.Name, g.Merged)
	}
	return g.Name
}

func (s *Segments) caption() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Saved: cost of always calling %s minus that of the policy, mean over the segment; positive is better. "+
		"The 95%% intervals hold for all %d segments together. Effect: the part of the saving over all rows.", s.Pair, s.Compared)
	for _, l := range s.LeftOut {
		name := l.By
		if l.Name != "" {
			name = fmt.Sprintf("%s %s", l.By, l.Name)
		}
		fmt.Fprintf(&b, " Too small by %s: %d with %d rows.", name, l.Segments, l.Rows)
	}
	return b.String()
}
