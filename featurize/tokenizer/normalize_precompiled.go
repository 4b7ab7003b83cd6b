package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// precompiled is a rule set of SentencePiece: a double-array trie whose values
// are offsets in a list of zero-terminated replacements.
type precompiled struct {
	units        []uint32
	replacements string
}

// parsePrecompiled also returns the length of the longest replacement.
func parsePrecompiled(o *object) (n normalizer, growth int) {
	p, msg := decodePrecompiled(field[string](o, "precompiled_charsmap"))
	if msg != "" {
		o.fail("precompiled_charsmap", "%s", msg)
		return nil, 1
	}
	for to := range strings.SplitSeq(p.replacements, "\x00") {
		growth = max(growth, len(to))
	}
	return p, growth
}

// decodePrecompiled reads the rule set: the length of the trie in bytes, its
// units, the replacements; little endian.
func decodePrecompiled(text string) (n *precompiled, msg string) {
	b, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, err.Error()
	case len(b) < 8:
		return nil, "is too short"
	}
	size := binary.LittleEndian.Uint32(b)
	if b = b[4:]; size < 4 || uint64(size) > uint64(len(b)) {
		return nil, "is shorter than the trie that it declares"
	}
	n = &precompiled{replacements: string(b[size/4*4:])}
	if !utf8.ValidString(n.replacements) {
		return nil, "has replacements that are not UTF-8"
	}
	for unit := range slices.Chunk(b[:size/4*4], 4) {
		n.units = append(n.units, binary.LittleEndian.Uint32(unit))
	}
	return n, ""
}

// normalize replaces a grapheme of fewer than six bytes as a whole if a rule
// matches its beginning, and other graphemes character by character.
func (n *precompiled) normalize(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for state := -1; s != ""; {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if len(cluster) < 6 {
			if to, ok := n.transform(cluster); ok {
				b.WriteString(to)
				continue
			}
		}
		for len(cluster) > 0 {
			size := runeLen(cluster)
			if to, ok := n.transform(cluster[:size]); ok {
				b.WriteString(to)
			} else {
				b.WriteString(cluster[:size])
			}
			cluster = cluster[size:]
		}
	}
	return b.String()
}

// transform returns the replacement of the shortest rule that is a prefix of
// key.
func (n *precompiled) transform(key string) (string, bool) {
	at := offset(n.units[0])
	for i := range len(key) {
		at ^= uint32(key[i])
		if key[i] == 0 || uint64(at) >= uint64(len(n.units)) {
			return "", false
		}
		unit := n.units[at]
		if unit&(1<<31|0xff) != uint32(key[i]) {
			return "", false
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 {
			return n.replacement(at)
		}
	}
	return "", false
}

// offset is the offset of the children of a unit, relative to it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// replacement reads the value of a leaf.
func (n *precompiled) replacement(leaf uint32) (string, bool) {
	if uint64(leaf) >= uint64(len(n.units)) {
		return "", false
	}
	start := n.units[leaf] & (1<<31 - 1)
	if uint64(start) > uint64(len(n.replacements)) {
		return "", false
	}
	to, _, _ := strings.Cut(n.replacements[start:], "\x00")
	return strings.ToValidUTF8(to, "\ufffd"), true
}
