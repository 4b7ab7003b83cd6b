package tokenizer

import "slices"

// Padding describes how a file pads the encodings of a batch to the same
// length.
type Padding struct {
	ID, Type int32 // of the padding ids
	Length   int   // of all encodings; 0: the length of the longest
	Multiple int   // the length is rounded up to a multiple of this; 0: no rounding
	Left     bool  // padding goes before the text, not after it
}

func parsePadding(o *object, vocab *vocabulary) *Padding {
	if o == nil {
		return nil
	}
	o.ignore("pad_token")
	p := &Padding{ID: field[int32](o, "pad_id"), Type: field[int32](o, "pad_type_id"), Left: parseLeft(o)}
	if !vocab.has(float64(p.ID)) {
		o.fail("pad_id", "%d is not the id of a token", p.ID)
	}
	p.Multiple = fieldOr(o, "pad_to_multiple_of", 0)
	p.Length = parseStrategy(o)
	if p.Multiple < 0 || p.Multiple > longestPadding {
		o.fail("pad_to_multiple_of", "%d is out of range", p.Multiple)
	}
	o.done()
	return p
}

// longestPadding limits the length that a file can require.
const longestPadding = 1 << 20

// parseStrategy reads "BatchLongest" or {"Fixed": 128}; the first is 0.
func parseStrategy(o *object) int {
	raw := o.need("strategy")
	if raw == nil || string(raw) == `"BatchLongest"` {
		return 0
	}
	strategy := newObject(o.at("strategy"), o.depth+1, raw, o.err)
	length := field[int](strategy, "Fixed")
	strategy.done()
	if length < 0 || length > longestPadding {
		o.fail("strategy", "%d is out of range", length)
	}
	return length
}

// Apply pads the encodings of a batch in place and returns their attention
// masks: 1 for the ids of the text, 0 for padding.
func (p Padding) Apply(batch []Encoding) (masks [][]int32) {
	length := p.Length
	if length == 0 {
		for _, e := range batch {
			length = max(length, len(e.IDs))
		}
	}
	if p.Multiple > 0 {
		length = (length + p.Multiple - 1) / p.Multiple * p.Multiple
	}
	for i, e := range batch {
		missing := max(0, length-len(e.IDs))
		mask := slices.Repeat([]int32{1}, len(e.IDs))
		batch[i] = Encoding{IDs: p.pad(e.IDs, p.ID, missing), Types: p.pad(e.Types, p.Type, missing)}
		masks = append(masks, p.pad(mask, 0, missing))
	}
	return masks
}

// pad returns ids with n copies of an id before or after them.
func (p Padding) pad(ids []int32, with int32, n int) []int32 {
	fill := slices.Repeat([]int32{with}, n)
	if p.Left {
		return append(fill, ids...)
	}
	return append(slices.Clip(ids), fill...)
}
