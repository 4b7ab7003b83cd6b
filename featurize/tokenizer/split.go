package tokenizer

import "strings"

// piece is a part of a text before it is given to the model.
type piece struct {
	text  string
	first bool // at the very beginning of the text
}

// splitter is a pre-tokenizer. It splits a piece into smaller, non-empty pieces
// and appends those to dst. Tokens never cross a split.
type splitter interface {
	split(dst []piece, p piece) []piece
}

// parseSplitter reads a component of the section pre_tokenizer. The second
// result reports that the model gets the bytes of pieces (ByteLevel).
func parseSplitter(o *object) (s splitter, byteLevel bool) {
	switch kind := o.kind(); kind {
	case "BertPreTokenizer":
		s = bertSplitter{}
	case "ByteLevel":
		s, byteLevel = parseByteLevel(o), true
	case "Split":
		s = parseSplit(o)
	case "Whitespace":
		s = scanned{scan: scanWhitespace, cut: cutRemoved, invert: true}
	case "WhitespaceSplit":
		s = byClass{class: isSpace, cut: cutRemoved}
	case "Punctuation":
		s = byClass{class: isPunct, cut: parseBehavior(o, "Isolated")}
	case "Digits":
		s = parseDigits(o)
	case "Metaspace":
		s = parseMetaspace(o)
	case "Sequence":
		s, byteLevel = parseSplitters(o)
	default:
		o.unsupported("type", "pre-tokenizer %q", kind)
	}
	o.done()
	return s, byteLevel
}

func parseSplitters(o *object) (all splitters, byteLevel bool) {
	for _, step := range o.objects("pretokenizers") {
		if byteLevel {
			o.unsupported("pretokenizers", "a pre-tokenizer after ByteLevel")
		}
		var s splitter
		s, byteLevel = parseSplitter(step)
		all = append(all, s)
	}
	return all, byteLevel
}

// splitters split one after another.
type splitters []splitter

func (all splitters) split(dst []piece, p piece) []piece {
	if len(all) == 0 {
		return append(dst, p)
	}
	last := len(all) - 1
	pieces := []piece{p}
	for _, s := range all[:last] {
		var next []piece
		for _, q := range pieces {
			next = s.split(next, q)
		}
		pieces = next
	}
	for _, q := range pieces {
		dst = all[last].split(dst, q)
	}
	return dst
}

// behavior is the handling of the matches of a pattern.
type behavior int

const (
	cutRemoved      behavior = iota // matches are dropped
	cutIsolated                     // each match is a piece
	cutWithPrevious                 // a match ends the piece before it
	cutWithNext                     // a match begins the piece after it
	cutContiguous                   // adjacent matches are one piece
)

var behaviors = map[string]behavior{
	"Removed": cutRemoved, "Isolated": cutIsolated, "Contiguous": cutContiguous,
	"MergedWithPrevious": cutWithPrevious, "MergedWithNext": cutWithNext,
}

func parseBehavior(o *object, otherwise string) behavior {
	name := fieldOr(o, "behavior", otherwise)
	b, known := behaviors[name]
	if !known {
		o.unsupported("behavior", "behavior %q", name)
	}
	return b
}

// cutter combines the spans of a text, alternating matches and gaps, into
// pieces.
type cutter struct {
	dst      []piece
	from     piece
	how      behavior
	start    int  // where the current piece begins
	end      int  // where the last span ended
	matching bool // whether the last span was a match
}

// span adds the next span, which ends at end.
func (c *cutter) span(end int, match bool) {
	if end == c.end {
		return
	}
	if c.begins(match) {
		c.flush()
	}
	if c.how == cutRemoved && match {
		c.start = end
	}
	c.end, c.matching = end, match
}

// begins reports whether a span starts a new piece.
func (c *cutter) begins(match bool) bool {
	switch c.how {
	case cutWithPrevious:
		return !match || c.matching
	case cutWithNext:
		return match || !c.matching
	case cutContiguous:
		return match != c.matching
	}
	return true
}

// flush writes the current piece.
func (c *cutter) flush() {
	if c.start < c.end {
		c.dst = append(c.dst, piece{text: c.from.text[c.start:c.end], first: c.from.first && c.start == 0})
	}
	c.start = c.end
}

// byClass splits at every character of a class.
type byClass struct {
	class class
	cut   behavior
}

func (s byClass) split(dst []piece, p piece) []piece {
	c := cutter{dst: dst, from: p, how: s.cut}
	for i, r := range p.text {
		if classOf(r)&s.class != 0 {
			c.span(i, false)
			c.span(i+runeLen(p.text[i:]), true)
		}
	}
	c.span(len(p.text), false)
	c.flush()
	return c.dst
}

func parseDigits(o *object) splitter {
	if fieldOr(o, "individual_digits", false) {
		return byClass{class: isNumeric, cut: cutIsolated}
	}
	return byClass{class: isNumeric, cut: cutContiguous}
}

// literal splits at every occurrence of a string.
type literal struct {
	old    string
	cut    behavior
	invert bool
}

func (s literal) split(dst []piece, p piece) []piece {
	c := cutter{dst: dst, from: p, how: s.cut}
	for at := 0; ; {
		i := strings.Index(p.text[at:], s.old)
		if i < 0 {
			break
		}
		c.span(at+i, s.invert)
		at += i + len(s.old)
		c.span(at, !s.invert)
	}
	c.span(len(p.text), s.invert)
	c.flush()
	return c.dst
}

// bertSplitter removes white space and makes every punctuation character a
// piece.
type bertSplitter struct{}

func (bertSplitter) split(dst []piece, p piece) []piece {
	start := 0
	for i, r := range p.text {
		c := classOf(r)
		if c&(isSpace|isPunct) == 0 {
			continue
		}
		if start < i {
			dst = append(dst, piece{text: p.text[start:i]})
		}
		start = i + runeLen(p.text[i:])
		if c&isPunct != 0 {
			dst = append(dst, piece{text: p.text[i:start]})
		}
	}
	if start < len(p.text) {
		dst = append(dst, piece{text: p.text[start:]})
	}
	return dst
}
