package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// metaspace replaces spaces with a visible character and starts a piece at
// each.
type metaspace struct {
	space  string
	prefix string // always, first or never: when one is added before the text
	cut    bool
}

func parseMetaspace(o *object) metaspace {
	o.ignore("str_rep")
	m := metaspace{space: field[string](o, "replacement"), cut: fieldOr(o, "split", true)}
	if utf8.RuneCountInString(m.space) != 1 {
		o.fail("replacement", "%q is not one character", m.space)
	}
	legacy := fieldOr(o, "add_prefix_space", true)
	otherwise := "always"
	if !legacy {
		otherwise = "never"
	}
	m.prefix = fieldOr(o, "prepend_scheme", otherwise)
	switch m.prefix {
	case "always", "first", "never":
	default:
		o.unsupported("prepend_scheme", "%q", m.prefix)
	}
	if !legacy && m.prefix != "never" {
		o.fail("add_prefix_space", "contradicts prepend_scheme %q", m.prefix)
	}
	return m
}

func (m metaspace) split(dst []piece, p piece) []piece {
	p.text = strings.ReplaceAll(p.text, " ", m.space)
	if !strings.HasPrefix(p.text, m.space) && (m.prefix == "always" || m.prefix == "first" && p.first) {
		p.text = m.space + p.text
	}
	if !m.cut {
		return append(dst, p)
	}
	return literal{old: m.space, cut: cutWithNext}.split(dst, p)
}

// prefixesFirst reports whether a splitter treats the beginning of the text
// differently. The reference finds the beginning by offsets in the original
// text, which a normalizer shifts.
func prefixesFirst(s splitter) bool {
	switch s := s.(type) {
	case metaspace:
		return s.prefix == "first"
	case splitters:
		return slices.ContainsFunc(s, prefixesFirst)
	}
	return false
}
