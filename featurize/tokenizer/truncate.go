package tokenizer

// truncation is how encodings are shortened.
type truncation struct {
	length   int    // of the file; 0: it names none
	strategy string // LongestFirst, OnlyFirst or OnlySecond
	left     bool   // the beginning of a text is cut off, not its end
}

func parseTruncation(o *object) truncation {
	t := truncation{strategy: "LongestFirst"}
	if o == nil {
		return t
	}
	o.ignore("stride") // of the parts cut off, which are not returned
	if t.length = field[int](o, "max_length"); t.length <= 0 {
		o.unsupported("max_length", "truncation to %d ids", t.length)
	}
	t.strategy = field[string](o, "strategy")
	switch t.strategy {
	case "LongestFirst", "OnlyFirst", "OnlySecond":
	default:
		o.unsupported("strategy", "truncation %q", t.strategy)
	}
	t.left = parseLeft(o)
	o.done()
	return t
}

// parseLeft reads the field direction.
func parseLeft(o *object) bool {
	direction := fieldOr(o, "direction", "Right")
	if direction != "Left" && direction != "Right" {
		o.unsupported("direction", "%q", direction)
	}
	return direction == "Left"
}

// one shortens the ids of a single text.
func (t truncation) one(ids []int32, length int) []int32 {
	length = max(length, 0)
	switch {
	case len(ids) <= length:
		return ids
	case t.left:
		return ids[len(ids)-length:]
	}
	return ids[:length]
}

// two shortens a pair of texts to a common length. A text that is named by the
// strategy but is too short leaves the rest to the other.
func (t truncation) two(a, b []int32, length int) (first, second []int32) {
	length = max(length, 0)
	if len(a)+len(b) <= length {
		return a, b
	}
	switch t.strategy {
	case "OnlyFirst":
		a = t.one(a, length-len(b))
		return a, t.one(b, length-len(a))
	case "OnlySecond":
		b = t.one(b, length-len(a))
		return t.one(a, length-len(b)), b
	}
	na, nb := longestFirst(len(a), len(b), length)
	return t.one(a, na), t.one(b, nb)
}

// longestFirst shares a length between two texts: the longer one loses first,
// then both are equal, and the odd id goes to the one that was longer, or to
// the second.
func longestFirst(a, b, length int) (na, nb int) {
	if a > b {
		nb, na = longestFirst(b, a, length)
		return na, nb
	}
	half := length / 2
	if a > half {
		return half, length - half
	}
	return a, length - a
}
