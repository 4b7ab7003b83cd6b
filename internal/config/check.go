package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checker compares a YAML document with the type that it is decoded into. It finds what the YAML library accepts or
// changes: unknown keys, keys without a value, words such as "yes" for true, whole numbers that a leading 0 makes
// octal, tags. Free sections (any) are checked as far as possible without a type.
type checker struct {
	problems []string
	seen     map[checked]bool // keeps nested aliases from growing exponentially
}

type checked struct {
	node *yaml.Node
	as   reflect.Type
}

// keyNoter is implemented by sections that explain a key whose value has the wrong type; kind is the value of the
// section's key "kind". "" means no explanation.
type keyNoter interface {
	KeyNote(kind, key string) string
}

var (
	anyType      = reflect.TypeFor[any]()
	octalInteger = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	oldBool      = regexp.MustCompile(`(?i)^(y|yes|on|n|no|off)$`)
)

func (c *checker) add(n *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
}

// about adds a problem of a value; name is "" for the whole document.
func (c *checker) about(n *yaml.Node, name, format string, args ...any) {
	if name != "" {
		name += ": "
	}
	c.add(n, "%s%s", name, fmt.Sprintf(format, args...))
}

// check checks a node that is decoded into a value of the type; name is its name in problems.
func (c *checker) check(n *yaml.Node, as reflect.Type, name string) {
	for as.Kind() == reflect.Pointer {
		if isNull(n) {
			return
		}
		as = as.Elem()
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.seen[checked{n, as}] {
		return
	}
	c.seen[checked{n, as}] = true
	switch {
	case !c.hasKnownTag(n):
	case isNull(n):
		if as != anyType {
			c.about(n, name, "there is no value; remove the key to use its default")
		}
	case n.Kind == yaml.MappingNode:
		c.checkMapping(n, as, name)
	case n.Kind == yaml.SequenceNode:
		c.checkList(n, as, name)
	case n.Kind == yaml.ScalarNode:
		c.checkScalar(n, as, name)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// hasKnownTag refuses tags that change the meaning of a value. Configurations have no dates: a value that looks like one stays a string.
func (c *checker) hasKnownTag(n *yaml.Node) bool {
	switch tag := n.ShortTag(); tag {
	case "!!timestamp":
		n.Tag = "!!str"
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map", "!!merge":
	default:
		c.add(n, "the tag %s is not known", tag)
		return false
	}
	return true
}

func (c *checker) checkList(n *yaml.Node, as reflect.Type, name string) {
	element := anyType
	switch {
	case as.Kind() == reflect.Slice, as.Kind() == reflect.Array:
		element = as.Elem()
	case as != anyType:
		c.about(n, name, "a list does not fit: expected %s", typeInWords(as.String()))
		return
	}
	for i, item := range n.Content {
		c.check(item, element, fmt.Sprintf("%s[%d]", name, i))
	}
}

func (c *checker) checkMapping(n *yaml.Node, as reflect.Type, name string) {
	value, keys := anyType, map[string]reflect.Type(nil)
	switch {
	case as.Kind() == reflect.Map:
		value = as.Elem()
	case as.Kind() == reflect.Struct:
		var free bool
		keys, free = yamlKeys(as)
		if !free {
			value = nil
		}
	case as != anyType:
		c.about(n, name, "a section does not fit: expected %s", typeInWords(as.String()))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.ShortTag() == "!!merge" {
			c.checkMerged(n.Content[i+1], as, name)
			continue
		}
		c.checkKey(n, key, n.Content[i+1], as, keys, value, name)
	}
}

// checkMerged checks what "<<" merges into a section: another one, or a list of them.
func (c *checker) checkMerged(n *yaml.Node, as reflect.Type, name string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			c.check(item, as, name)
		}
		return
	}
	c.check(n, as, name)
}

// checkKey checks one key of a section and its value. Keys of free sections are strings as they are written.
func (c *checker) checkKey(section, key, value *yaml.Node, as reflect.Type, keys map[string]reflect.Type, free reflect.Type, name string) {
	if key.Kind != yaml.ScalarNode {
		if key.Kind != yaml.AliasNode {
			c.add(key, "a key must be a string")
		}
		return
	}
	key.Tag = "!!str"
	path := strings.TrimPrefix(name+"."+key.Value, ".")
	of, known := keys[key.Value]
	switch {
	case known:
		before := len(c.problems)
		c.check(value, of, path)
		c.explain(before, section, as, key.Value)
	case free != nil:
		c.check(value, free, path)
	default:
		c.add(key, "unknown key %q; known are %s", key.Value, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
	}
}

// explain appends the section's explanation of a key to the problem with its value.
func (c *checker) explain(before int, section *yaml.Node, as reflect.Type, key string) {
	noter, ok := reflect.Zero(as).Interface().(keyNoter)
	if !ok || len(c.problems) == before {
		return
	}
	kind := ""
	for i := 0; i+1 < len(section.Content); i += 2 {
		if section.Content[i].Value == "kind" {
			kind = section.Content[i+1].Value
		}
	}
	if note := noter.KeyNote(kind, key); note != "" {
		c.problems[len(c.problems)-1] += "; " + note
	}
}

func (c *checker) checkScalar(n *yaml.Node, as reflect.Type, name string) {
	isText := as.Kind() == reflect.String
	switch tag := n.ShortTag(); {
	case !isText && tag == "!!int" && octalInteger.MatchString(n.Value):
		c.about(n, name, "%s begins with 0, which makes it octal; remove the 0, or put a string in quotes", n.Value)
	case as.Kind() == reflect.Bool && tag == "!!str" && oldBool.MatchString(n.Value):
		c.about(n, name, "the string %q does not fit: expected true or false", n.Value)
	case as != anyType:
		if err := n.Load(reflect.New(as).Interface()); err != nil {
			c.about(n, name, "%s", strings.Join(misfits(err), "; "))
		}
	}
}

var leadingLine = regexp.MustCompile(`^line \d+: `)

// misfits are the library's errors about one scalar, without the line.
func misfits(err error) []string {
	lines := libraryProblems(err)
	for i, line := range lines {
		lines[i] = leadingLine.ReplaceAllString(line, "")
	}
	return lines
}

// yamlKeys returns the types of a struct's fields by key; free means that other keys go into a map.
func yamlKeys(as reflect.Type) (keys map[string]reflect.Type, free bool) {
	keys = make(map[string]reflect.Type)
	for i := range as.NumField() {
		f := as.Field(i)
		if !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case strings.Contains(option, "inline") && f.Type.Kind() == reflect.Map:
			free = true
		case strings.Contains(option, "inline"):
			more, any := yamlKeys(f.Type)
			maps.Copy(keys, more)
			free = free || any
		case name == "":
			keys[strings.ToLower(f.Name)] = f.Type
		default:
			keys[name] = f.Type
		}
	}
	return keys, free
}
