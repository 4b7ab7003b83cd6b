package decisionlog

// seen is a set of ids. nil stays empty; it is for segments in which no id occurs twice.
type seen map[string]bool

func newSeen(repeats bool) seen {
	if !repeats {
		return nil
	}
	return seen{}
}

// again adds an id, and reports whether it was there.
func (s seen) again(id string) bool {
	if s == nil {
		return false
	}
	was := s[id]
	s[id] = true
	return was
}
