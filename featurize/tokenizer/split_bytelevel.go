package tokenizer

import "strings"

// byteLevel is the splitting part of ByteLevel. The other part, the spelling of
// bytes as characters, is in the model.
type byteLevel struct {
	prefix bool // add a space before a piece without one
	words  bool // split by gpt2Pattern
}

func parseByteLevel(o *object) byteLevel {
	o.ignore("trim_offsets")
	return byteLevel{prefix: field[bool](o, "add_prefix_space"), words: fieldOr(o, "use_regex", true)}
}

func (s byteLevel) split(dst []piece, p piece) []piece {
	if s.prefix && !strings.HasPrefix(p.text, " ") {
		p.text = " " + p.text
	}
	if !s.words {
		return append(dst, p)
	}
	for at := 0; at < len(p.text); {
		n := scanGPT2(p.text[at:])
		dst = append(dst, piece{text: p.text[at : at+n]})
		at += n
	}
	return dst
}

// byteSpelling has the character of each byte in the vocabulary of a byte-level
// model: printable Latin-1 represents itself, the other bytes are U+0100 and
// following.
var byteSpelling = func() (spelling [256]rune) {
	next := rune(256)
	for b := range spelling {
		r := rune(b)
		if '!' <= r && r <= '~' || 0xa1 <= r && r <= 0xac || 0xae <= r {
			spelling[b] = r
			continue
		}
		spelling[b] = next
		next++
	}
	return spelling
}()

// spelledByte is the inverse of byteSpelling.
var spelledByte = func() map[rune]byte {
	inverse := map[rune]byte{}
	for b, r := range byteSpelling {
		inverse[r] = byte(b)
	}
	return inverse
}()
