package findings

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"pipe/models"
	"pipe/pipeline/report"
)

const (
	leastRows   = 30 // of a segment that is shown
	leastSets   = 10 // of rows that belong together, in a segment
	mostPerPart = 8  // segments of one partition, the largest; the others are merged
	shownPairs  = 3  // of a segment
)

// comparison is a policy against a constant on the reported rows of an Evidence.
type comparison struct {
	*Evidence
	lambda float64
	policy *Policy
	pair   int       // the constant
	saved  []float64 // per row, cost of the constant minus that of the policy
}

// compare compares the policy with the best fixed pair of the training rows, or with today's. It is nil if there is neither,
// or if the policy is that constant.
func (e *Evidence) compare(lambda float64, p *Policy) *comparison {
	pair := e.fixed(lambda)
	if p == nil || pair < 0 || !slices.ContainsFunc(p.Action, func(i int) bool { return i != pair }) {
		return nil
	}
	saved := minus(e.paid(e.constant(pair), lambda).cost, e.paid(p.Action, lambda).cost)
	return &comparison{e, lambda, p, pair, saved}
}

// Segments says where a policy, which may be nil, helps and harms compared with the best fixed pair of the training rows,
// or with today's pair; nil if there is nothing to compare.
func (e *Evidence) Segments(lambda float64, p *Policy) (*report.Segments, error) {
	c := e.compare(lambda, p)
	if c == nil {
		return nil, nil
	}
	out := report.Segments{Lambda: lambda, Policy: p.Name, Pair: e.Tensor.Actions.Name(c.pair), Rows: len(e.Rows)}
	var parts [][]int // rows of every segment
	for _, part := range e.partitions(lambda) {
		segments, rows, left := e.divide(part)
		out.Segments, parts = append(out.Segments, segments...), append(parts, rows...)
		if left != nil {
			out.LeftOut = append(out.LeftOut, *left)
		}
	}
	for _, rows := range parts {
		if c.differs(rows) {
			out.Compared++
		}
	}
	for i := range out.Segments {
		if err := c.measure(&out.Segments[i], parts[i], 1-0.05/float64(max(1, out.Compared))); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out.Segments, func(a, b report.Segment) int { return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect)) })
	return &out, nil
}

// divide returns the segments of a partition, with their reported rows as indices into Rows. Small segments are merged; if
// they are small even together, or if only one segment would remain, they are left out.
func (e *Evidence) divide(p partition) (segments []report.Segment, rows [][]int, left *report.LeftOut) {
	in := make([][]int, len(p.names))
	for k, n := range e.Rows {
		at := p.of(n)
		in[at] = append(in[at], k)
	}
	order := make([]int, len(p.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(in[b]), len(in[a])) })
	var small []int
	count := 0
	for _, i := range order {
		switch {
		case len(in[i]) == 0:
		case len(segments) < mostPerPart && e.large(in[i]):
			s := report.Segment{By: p.by, Name: p.names[i]}
			if p.like != nil {
				s.Like = p.like[i]
			}
			segments, rows = append(segments, s), append(rows, in[i])
		default:
			small = append(small, in[i]...)
			count++
		}
	}
	if e.large(small) && len(segments) > 0 {
		slices.Sort(small)
		return append(segments, report.Segment{By: p.by, Name: otherOf(p), Merged: count}), append(rows, small), nil
	}
	if len(segments) == 1 && count == 0 {
		return nil, nil, nil
	}
	if count > 0 {
		left = &report.LeftOut{By: p.by, Name: p.name, Segments: count, Rows: len(small)}
	}
	return segments, rows, left
}

// otherOf is the name of the segment of the others.
func otherOf(p partition) string {
	if p.name == "" {
		return "other " + p.by + "s"
	}
	return "other " + p.name
}

// large reports whether a segment has enough rows to be shown.
func (e *Evidence) large(rows []int) bool {
	return len(rows) >= leastRows && len(e.sets(rows)) >= leastSets
}

// sets are the sets of rows that belong together, of some rows.
func (e *Evidence) sets(rows []int) map[int]bool {
	out := map[int]bool{}
	for _, k := range rows {
		out[e.Together.Of[k]] = true
	}
	return out
}

// measure fills in the figures of a segment.
func (c *comparison) measure(s *report.Segment, rows []int, level float64) error {
	saved, sets := make([]float64, len(rows)), make([]int, len(rows))
	for i, k := range rows {
		saved[i], sets[i] = c.saved[k], c.Together.Of[k]
	}
	s.Rows, s.Sets, s.Mean = len(rows), len(c.sets(rows)), mean(saved)
	s.Effect = s.Mean * float64(len(rows)) / float64(len(c.Rows))
	s.Chosen = c.chosen(rows)
	if !c.differs(rows) {
		return nil
	}
	v, err := models.StudentInterval(saved, sets, level, c.leastVariance(rows))
	if errors.Is(err, models.ErrOneDraw) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Saved = (*report.Interval)(&v)
	switch {
	case v.Low > tie:
		s.Finding = report.Helps
	case v.High < -tie:
		s.Finding = report.Harms
	}
	return nil
}

// differs reports whether the policy takes another pair than the constant on any of the rows.
func (c *comparison) differs(rows []int) bool {
	return slices.ContainsFunc(rows, func(k int) bool { return c.policy.Action[k] != c.pair })
}

// leastVariance bounds the variance of the saving in a segment from below. In a small segment all rows can save the same by
// chance, as when none of them fails. So the rows with another pair than the constant vary at least as they do over all
// reported rows.
func (c *comparison) leastVariance(rows []int) float64 {
	var all []float64
	for k, a := range c.policy.Action {
		if a != c.pair {
			all = append(all, c.saved[k])
		}
	}
	changed := 0.0
	for _, k := range rows {
		if c.policy.Action[k] != c.pair {
			changed++
		}
	}
	_, std := models.MeanStd(all)
	return changed / float64(len(rows)) * std * std
}

// chosen are the most frequent pairs of the policy.
func (c *comparison) chosen(rows []int) []report.PairShare {
	count := map[int]int{}
	for _, k := range rows {
		count[c.policy.Action[k]]++
	}
	var pairs []int
	for i := range count {
		pairs = append(pairs, i)
	}
	slices.SortFunc(pairs, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	var out []report.PairShare
	for _, i := range pairs[:min(len(pairs), shownPairs)] {
		out = append(out, report.PairShare{Pair: c.Tensor.Actions.Name(i), Share: float64(count[i]) / float64(len(rows))})
	}
	return out
}
