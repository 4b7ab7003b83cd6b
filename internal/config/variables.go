package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// variable matches a reference to a variable, an escaped "${", and an incomplete reference.
var variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^{}]*))?\}|\$\{`)

// expandNode replaces variables in every value below n and returns the problems. It works on parsed values, so neither
// comments nor a value with YAML's special characters can change the structure of the file.
func expandNode(n *yaml.Node, env func(string) (string, bool)) (problems []string) {
	if n.Kind == yaml.ScalarNode && variable.MatchString(n.Value) {
		n.Value, problems = expand(n.Value, env)
		for i, p := range problems {
			problems[i] = fmt.Sprintf("line %d: %s", n.Line, p)
		}
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 {
			n.Tag = plainTag(n.Value) // the expanded text decides the type of a plain scalar: lr: ${LR}
		}
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if strings.Contains(child.Value, "${") {
				problems = append(problems, fmt.Sprintf("line %d: the key %q has a variable; only values may have one", child.Line, child.Value))
			}
			continue
		}
		problems = append(problems, expandNode(child, env)...)
	}
	return problems
}

// plainTag is the tag of a plain scalar with this text.
func plainTag(text string) string {
	var v any
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if err := n.Load(&v); err != nil {
		return "!!str"
	}
	switch v.(type) {
	case nil:
		return "!!null"
	case bool:
		return "!!bool"
	case int, int64, uint64:
		return "!!int"
	case float64:
		return "!!float"
	}
	return "!!str"
}

// expand replaces variables as a shell does: the default is used for a variable that is unset or empty.
func expand(text string, env func(string) (string, bool)) (expanded string, problems []string) {
	expanded = variable.ReplaceAllStringFunc(text, func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		value, set := env(m[1])
		switch {
		case ref == "$${":
			return "${"
		case ref == "${":
			problems = append(problems, fmt.Sprintf("%q: only ${VAR} and ${VAR:-default} are supported, without variables in the default; write $${ for a literal ${", text))
		case m[2] != "" && value == "":
			return m[3]
		case !set:
			problems = append(problems, fmt.Sprintf("variable %s is not set", m[1]))
		}
		return value
	})
	return expanded, problems
}

// replaced are values with variables in them, after these were replaced, with the text of the file.
type replaced map[string]string

// keep is called before the variables below n are replaced, and what it returns after that.
func (r replaced) keep(n *yaml.Node) (after func()) {
	var undo []func()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if text := n.Value; n.Kind == yaml.ScalarNode && variable.MatchString(text) {
			undo = append(undo, func() { r[n.Value] = text })
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(n)
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// Values that are shorter than shortestHidden are part of ordinary words. The YAML library shortens what it shows of a value
// to the first shownBytes.
const shortestHidden, shownBytes = 8, 7

// hide replaces the values in problems by the text of the file.
func (r replaced) hide(problems []string) []string {
	values := slices.Collect(maps.Keys(r))
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	for i := range problems {
		for _, value := range values {
			if len(value) < shortestHidden {
				continue
			}
			quoted := strconv.Quote(value)
			for _, spelling := range []string{value, quoted[1 : len(quoted)-1], value[:shownBytes] + "..."} {
				problems[i] = strings.ReplaceAll(problems[i], spelling, r[value])
			}
		}
	}
	return problems
}
