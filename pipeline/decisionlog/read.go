package decisionlog

import (
	"errors"
	"fmt"
	"iter"
	"maps"

	"pipe/internal/dataerror"
)

// Log is a log that is read. A [Writer] may append to it meanwhile: the reader sees what was there when it comes to a
// segment. It is not safe for concurrent use.
type Log struct {
	folder   string
	policies map[string]*PolicyInfo
	counts   ReadCounts
}

// ReadCounts say what a complete pass over the records found.
type ReadCounts struct {
	Records   int `json:"records"`
	Outcomes  int `json:"outcomes"`  // joined with a record
	Unmatched int `json:"unmatched"` // outcomes whose decision is not in the log: it was lost in a crash, or removed
	Conflicts int `json:"conflicts"` // outcomes that contradict an earlier one of the same decision, and are left out
	Replaced  int `json:"replaced"`  // outcomes that a later one of the same decision replaced
	Repeated  int `json:"repeated"`  // decisions and outcomes that are in the log more than once; each counts once
	// OutOfRange are outcomes of earlier versions whose score is not from 0 to 1, or whose loss is beyond float32. They are left out.
	OutOfRange int `json:"out_of_range"`
	Segments   int `json:"segments"`
	Damage

	outcomesAgain int // of Repeated
}

// joined are the outcomes whose decision is in the log.
func (c *ReadCounts) joined() int {
	return c.Outcomes + c.Conflicts + c.Replaced + c.OutOfRange + c.outcomesAgain
}

// Decision is a record of the log with its policy and its outcome.
type Decision struct {
	*Record
	About   *PolicyInfo
	Outcome *Outcome // nil: not known, or out of range
}

// Read starts reading the log in a folder. If there is none, the error is a *dataerror.Error.
func Read(folder string) (*Log, error) {
	list, err := listSegments(folder, decisions)
	if err != nil {
		return nil, fmt.Errorf("read decision log: %w", err)
	}
	if len(list) == 0 {
		return nil, &dataerror.Error{File: folder, Msg: "is no decision log, or has no decision yet: it has no file " + decisions + "-*" + linesEnding + " or " + parquetEnding}
	}
	return &Log{folder: folder, policies: map[string]*PolicyInfo{}}, nil
}

// Policies are the policies of the records that were read so far, by digest.
func (l *Log) Policies() map[string]*PolicyInfo { return maps.Clone(l.policies) }

// Counts are those of the last complete pass over the records.
func (l *Log) Counts() ReadCounts { return l.counts }

// Decisions iterates over the records in the order in which they were written. The first error ends it. Memory holds one
// segment's outcomes at a time.
func (l *Log) Decisions() iter.Seq2[Decision, error] {
	return func(yield func(Decision, error) bool) {
		if err := l.read(yield); err != nil && !errors.Is(err, errStop) {
			yield(Decision{}, fmt.Errorf("read decision log %q: %w", l.folder, err))
		}
	}
}

// errStop ends a pass that the caller left.
var errStop = errors.New("stop")

func (l *Log) read(yield func(Decision, error) bool) error {
	l.counts = ReadCounts{}
	list, err := listSegments(l.folder, decisions)
	if err != nil {
		return err
	}
	told, err := l.outcomeSpans()
	if err != nil {
		return err
	}
	total := 0
	for _, t := range told {
		total += t.span.Rows
	}
	for _, s := range list {
		if err := l.segment(s, told, yield); err != nil {
			return err
		}
	}
	l.counts.Unmatched = max(0, total-l.counts.joined())
	return nil
}

// segment reads one segment with its outcomes.
func (l *Log) segment(s *segment, told []*closedSegment, yield func(Decision, error) bool) error {
	if !s.parquet && !s.lines {
		return nil
	}
	sp, err := spanFor(s)
	if gone(err) {
		return nil // it was removed
	}
	if err != nil {
		return err
	}
	joined, err := l.outcomesWithin(sp, told)
	if err != nil {
		return err
	}
	l.counts.Segments++
	seen := newSeen(sp.repeats())
	d, err := eachRecord(s, func(r *Record, p *PolicyInfo) error {
		if seen.again(r.ID) {
			l.counts.Repeated++
			return nil
		}
		if l.policies[p.Digest] == nil {
			l.policies[p.Digest] = p
		}
		l.counts.Records++
		all := joined[r.ID]
		l.counts.add(all)
		out := Decision{r, p, all.holds}
		switch {
		case out.Outcome == nil:
		case out.Outcome.Check() != nil:
			l.counts.OutOfRange++
			out.Outcome = nil
		default:
			l.counts.Outcomes++
		}
		if !yield(out, nil) {
			return errStop
		}
		return nil
	})
	l.counts.Damage.add(d)
	return err
}

// eachRecord reads a segment in the form that it has. Lines that become Parquet while they are listed are read as Parquet.
func eachRecord(s *segment, use func(r *Record, p *PolicyInfo) error) (Damage, error) {
	if s.parquet {
		return Damage{}, recordsOfParquet(s, use)
	}
	d, err := recordsOfLines(s, newRecordReader(), use)
	if gone(err) {
		err = recordsOfParquet(s, use)
	}
	return d, err
}

func eachOutcome(s *segment, use func(o *Outcome) error) error {
	if s.parquet {
		return outcomesOfParquet(s, use)
	}
	_, err := readLines(s, func(_ lineKind, body []byte) error {
		o, err := readOutcome(body)
		if err != nil {
			return err
		}
		return use(o)
	})
	if gone(err) {
		err = outcomesOfParquet(s, use)
	}
	return err
}

// spanFor is the span of a segment as it is now.
func spanFor(s *segment) (*span, error) {
	if s.parquet {
		if sp, err := s.readIndex(); err == nil {
			return sp, nil
		}
		return spanOfParquet(s)
	}
	sp, _, err := spanOf(s)
	if gone(err) {
		return spanOfParquet(s)
	}
	return sp, err
}

// outcomeSpans lists the segments of outcomes.
func (l *Log) outcomeSpans() ([]*closedSegment, error) {
	list, err := listSegments(l.folder, outcomes)
	if err != nil {
		return nil, err
	}
	var told []*closedSegment
	for _, s := range list {
		if !s.parquet && !s.lines {
			continue
		}
		sp, err := spanFor(s)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sp.Hashes = nil
		told = append(told, &closedSegment{s, sp})
	}
	return told, nil
}

// history is what the log has of the outcome of a decision: the one that holds, and how many others there are.
type history struct {
	holds                      *Outcome
	replaced, conflicts, again int
}

// add counts the outcomes of a decision, besides the one that holds.
func (c *ReadCounts) add(t history) {
	c.Replaced += t.replaced
	c.Conflicts += t.conflicts
	c.Repeated += t.again
	c.outcomesAgain += t.again
}

// next takes another outcome of the decision.
func (t *history) next(o *Outcome) {
	switch {
	case t.holds == nil:
		t.holds = o
	case o.Replace:
		t.replaced++
		t.holds = o
	case contentOf(t.holds) != contentOf(o):
		t.conflicts++
	default:
		t.again++
	}
}

// outcomesWithin reads the outcomes whose ids are within a span.
func (l *Log) outcomesWithin(sp *span, segments []*closedSegment) (map[string]history, error) {
	joined := map[string]history{}
	for _, s := range segments {
		if !s.span.overlaps(sp) {
			continue
		}
		err := eachOutcome(s.segment, func(o *Outcome) error {
			if sp.mayHave(o.ID) {
				t := joined[o.ID]
				t.next(o)
				joined[o.ID] = t
			}
			return nil
		})
		if err != nil && !gone(err) {
			return nil, err
		}
	}
	return joined, nil
}
