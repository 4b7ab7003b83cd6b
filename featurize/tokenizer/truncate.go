package tokenizer

// truncation describes how encodings are shortened.
type truncation struct {
	length   int    // of the file; 0: not set
	strategy string // LongestFirst, OnlyFirst or OnlySecond
	left     bool   // cut off the beginning of a text, not its end
}

func parseTruncation(o *object) truncation {
	t := truncation{strategy: "LongestFirst"}
	if o == nil {
		return t
	}
	o.ignore("stride") // of the truncated parts, which are not returned
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

// two shortens a pair of texts to a common length. If the text selected by the
// strategy is too short, the other one is shortened by the rest.
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

// longestFirst divides a length between two texts. The longer one is shortened
// first until both are equal. An odd id goes to the text that was longer, or
// else to the second.
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
