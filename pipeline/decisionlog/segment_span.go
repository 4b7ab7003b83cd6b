package decisionlog

// span is the summary of a segment in its index: how many rows it has, and the ranges of their ids and of their times.
type span struct {
	Rows   int
	MinID  string
	MaxID  string
	First  int64 // earliest time of a record, microseconds since 1970
	Last   int64 // latest
	Hashes map[uint64]uint64
	ids    int // of an index: how many hashes it has
}

// repeats reports whether an id occurs twice. In a segment of decisions, this means that a line was written or copied twice.
func (s *span) repeats() bool {
	if s.Hashes != nil {
		return s.Rows > len(s.Hashes)
	}
	return s.Rows > s.ids
}

// add counts one row. Hashes maps the hash of an id to a hash of the content, which is 0 for decisions.
func (s *span) add(id string, hash, content uint64, time int64) {
	if s.Rows == 0 || id < s.MinID {
		s.MinID = id
	}
	if id > s.MaxID {
		s.MaxID = id
	}
	if s.Rows == 0 || time < s.First {
		s.First = time
	}
	if s.Rows == 0 || time > s.Last {
		s.Last = time
	}
	s.Rows++
	if s.Hashes == nil {
		s.Hashes = map[uint64]uint64{}
	}
	s.Hashes[hash] = content
}

// mayHave reports whether an id is within the span.
func (s *span) mayHave(id string) bool { return s.Rows > 0 && s.MinID <= id && id <= s.MaxID }

// overlaps reports whether two spans may have an id in common.
func (s *span) overlaps(o *span) bool {
	return s.Rows > 0 && o.Rows > 0 && s.MinID <= o.MaxID && o.MinID <= s.MaxID
}

// spanOf reads the span of a segment of lines.
func spanOf(s *segment) (*span, Damage, error) {
	out, reader := &span{}, newRecordReader()
	d, err := readLines(s, func(kind lineKind, body []byte) error {
		if kind != recordLine {
			return nil
		}
		if s.stream == outcomes {
			o, err := readOutcome(body)
			if err == nil {
				out.add(o.ID, hashOf(o.ID), contentOf(o), o.Time)
			}
			return err
		}
		in := scan{rest: body}
		in.structure(reader.fields[:2]) // the id and the time
		if in.err == nil {
			out.add(reader.record.ID, hashOf(reader.record.ID), 0, reader.record.Time)
		}
		return in.err
	})
	return out, d, err
}

// contentOf identifies what an outcome states, without its time and sender.
func contentOf(o *Outcome) uint64 {
	c := *o
	c.Time, c.Client, c.Replace = 0, "", false
	c.Loss, c.Score = unsigned(c.Loss), unsigned(c.Score)
	line, err := appendOutcome(nil, &c)
	if err != nil {
		return 0
	}
	return hashOf(string(line))
}

// unsigned makes 0 of -0, which states the same.
func unsigned(v *float64) *float64 {
	if v == nil || *v != 0 {
		return v
	}
	return new(float64)
}
