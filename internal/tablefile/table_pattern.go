package tablefile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Pattern is a text with {names}, such as "{expert}|total_cost", that is matched against the names of columns or
// files, or filled with values.
type Pattern struct {
	text        string
	parts       []patternPart
	short, long *regexp.Regexp // names as short and as long as possible
}

// patternPart is a {name}, or the literal text between two of them.
type patternPart struct {
	name    string
	choices []string // the texts that the name can stand for; nil: any
	literal string
}

// ParsePattern reads a pattern. Each name may occur once, and there is text between two names.
func ParsePattern(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if literal != "" {
			p.parts = append(p.parts, patternPart{literal: literal})
		}
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		switch {
		case !closed || name == "" || strings.Contains(name, "{"):
			return nil, fmt.Errorf("%q has a { without a name and }", text)
		case slices.Contains(p.Names(), name):
			return nil, fmt.Errorf("%q has {%s} twice", text, name)
		case literal == "" && len(p.parts) > 0:
			return nil, fmt.Errorf("%q has no text between two names", text)
		}
		p.parts = append(p.parts, patternPart{name: name})
		rest = next
	}
	p.short, p.long = p.expression("(.+?)", regexp.QuoteMeta), p.expression("(.+)", regexp.QuoteMeta)
	return p, nil
}

// ParsePaths reads a pattern of paths with slashes. A name or * stands for a piece without a slash, which is as short as
// possible, and {name:a|b} for one of the texts a and b.
func ParsePaths(text string) (*Pattern, error) {
	p, err := ParsePattern(text)
	if err != nil {
		return nil, err
	}
	for i := range p.parts {
		if name, choices, ok := strings.Cut(p.parts[i].name, ":"); ok {
			p.parts[i].name, p.parts[i].choices = name, strings.Split(choices, "|")
		}
	}
	return p, nil
}

// String is the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Names are the names in the pattern, in their order.
func (p *Pattern) Names() []string {
	var names []string
	for _, part := range p.parts {
		if part.name != "" {
			names = append(names, part.name)
		}
	}
	return names
}

// partitions says of each name whether it is a partition of a path, as in topic={topic}.
func (p *Pattern) partitions() (is []bool) {
	piece := "" // of the path, up to the name
	for _, part := range p.parts {
		if part.name == "" {
			piece += part.literal
			piece = piece[strings.LastIndexByte(piece, '/')+1:]
			continue
		}
		is = append(is, strings.Contains(piece, "="))
	}
	return is
}

// Fill puts values in the place of the names.
func (p *Pattern) Fill(value func(name string) string) string {
	var b strings.Builder
	for _, part := range p.parts {
		if part.name != "" {
			b.WriteString(value(part.name))
		} else {
			b.WriteString(part.literal)
		}
	}
	return b.String()
}

// Match returns what the names stand for in text, in the order of Names; nil if text does not match. Text that can be
// read in two ways is an error.
func (p *Pattern) Match(text string) ([]string, error) {
	first := p.short.FindStringSubmatch(text)
	if first == nil {
		return nil, nil
	}
	if last := p.long.FindStringSubmatch(text); !slices.Equal(first, last) {
		return nil, fmt.Errorf("%q fits %q in more than one way", text, p.text)
	}
	return first[1:], nil
}

// files returns the expression that matches paths.
func (p *Pattern) files() *regexp.Regexp {
	return p.expression("([^/]+?)", func(literal string) string {
		return strings.ReplaceAll(regexp.QuoteMeta(literal), `\*`, "[^/]*?")
	})
}

func (p *Pattern) expression(name string, literal func(string) string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for _, part := range p.parts {
		switch {
		case part.choices != nil:
			quoted := make([]string, len(part.choices))
			for i, choice := range part.choices {
				quoted[i] = regexp.QuoteMeta(choice)
			}
			b.WriteString("(" + strings.Join(quoted, "|") + ")")
		case part.name != "":
			b.WriteString(name)
		default:
			b.WriteString(literal(part.literal))
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
