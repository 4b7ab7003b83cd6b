package pipeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"pipe/internal/outside"
)

// Path is a file or folder named in a configuration file. LoadConfig makes a relative one relative to the folder of
// the file that names it, so that a configuration works from any working directory.
type Path string

// Validator is implemented by configurations that can check themselves. Validate returns every problem it finds
// (errors.Join), not only the first.
type Validator interface{ Validate() error }

// ConfigError lists everything that is wrong with one configuration file.
type ConfigError struct {
	File     string   // the file as it was named
	Problems []string // one line each; with a line number where the YAML has one
}

func (e *ConfigError) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("read config %q: %s", e.File, e.Problems[0])
	}
	return fmt.Sprintf("read config %q: %d problems:\n  %s", e.File, len(e.Problems), strings.Join(e.Problems, "\n  "))
}

// LoadConfig reads the YAML file at path into dst, a pointer to a struct that already holds the defaults.
//
// ${VAR} and ${VAR:-default} in values are replaced from the environment, and $${ by ${; a variable that is not set and
// has no default is a problem. Unknown and repeated keys, keys without a value and values of the wrong type are problems.
// If dst is a Validator, it is asked last. All problems of a stage come back together in one *ConfigError; a file that
// cannot be read gives the operating system's error.
func LoadConfig(path string, dst any) error {
	text, err := readConfigFile(path)
	if err != nil {
		return fmt.Errorf("read config: %w", err)
	}
	if len(text) > maxConfig {
		return &ConfigError{File: path, Problems: []string{fmt.Sprintf("the file is longer than %d MiB", maxConfig>>20)}}
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("read config %q: %w", path, err)
	}
	problems, err := outside.Read(func() ([]string, error) { return decodeConfig(text, dir, os.LookupEnv, dst), nil })
	if err != nil {
		problems = []string{err.Error()}
	}
	if len(problems) > 0 {
		return &ConfigError{File: path, Problems: problems}
	}
	return nil
}

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 16 << 20

// readConfigFile reads a file up to one byte beyond what it may have.
func readConfigFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxConfig+1))
}

// decodeConfig does the work of LoadConfig on bytes; dir is the folder that relative paths start from.
func decodeConfig(text []byte, dir string, env func(string) (string, bool), dst any) []string {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return configProblems(err)
	}
	if problems := expandNode(&root, env); len(problems) > 0 {
		return problems
	}
	check := configChecker{seen: make(map[checked]bool)}
	for _, n := range root.Content {
		check.check(n, reflect.TypeOf(dst).Elem(), "")
	}
	if len(check.problems) > 0 {
		return check.problems
	}
	if err := root.Load(dst, yaml.WithKnownFields()); err != nil {
		return configProblems(err)
	}
	resolvePaths(reflect.ValueOf(dst), dir)
	if v, ok := dst.(Validator); ok {
		if err := v.Validate(); err != nil {
			return flattenErrors(err)
		}
	}
	return nil
}

// variable matches a reference to a variable, an escaped "${", and what begins like a reference and is none.
var variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^{}]*))?\}|\$\{`)

// expandNode replaces variables in every value below n and returns what cannot be replaced. Expansion works on values
// after parsing, so neither comments nor a value with YAML's special characters can change the file's structure.
func expandNode(n *yaml.Node, env func(string) (string, bool)) (problems []string) {
	if n.Kind == yaml.ScalarNode && variable.MatchString(n.Value) {
		n.Value, problems = expand(n.Value, env)
		for i, p := range problems {
			problems[i] = fmt.Sprintf("line %d: %s", n.Line, p)
		}
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 {
			n.Tag = plainTag(n.Value) // a plain scalar takes its type from the expanded text: lr: ${LR}
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

// plainTag is the tag of a plain scalar that holds the text.
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

// expand replaces variables as a shell does: the default stands for a variable that is not set, or empty.
func expand(text string, env func(string) (string, bool)) (expanded string, problems []string) {
	expanded = variable.ReplaceAllStringFunc(text, func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		value, set := env(m[1])
		switch {
		case ref == "$${":
			return "${"
		case ref == "${":
			problems = append(problems, fmt.Sprintf("%q: ${VAR} and ${VAR:-default} are known, and no variable within a default; $${ stands for ${ itself", text))
		case m[2] != "" && value == "":
			return m[3]
		case !set:
			problems = append(problems, fmt.Sprintf("variable %s is not set", m[1]))
		}
		return value
	})
	return expanded, problems
}

var (
	pathType     = reflect.TypeFor[Path]()
	yamlPosition = regexp.MustCompile(`^go-yaml load error in .*? at L(\d+)[^:]*: `)
)

// resolvePaths joins dir to every relative, non-empty Path below v.
func resolvePaths(v reflect.Value, dir string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			resolvePaths(v.Elem(), dir)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				resolvePaths(v.Field(i), dir)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			resolvePaths(v.Index(i), dir)
		}
	case reflect.Map:
		resolveMapPaths(v, dir)
	case reflect.String:
		if v.Type() == pathType && v.CanSet() && v.String() != "" && !filepath.IsAbs(v.String()) {
			v.SetString(filepath.Join(dir, v.String()))
		}
	}
}

// resolveMapPaths copies each value out and back in, because map elements cannot be set in place.
func resolveMapPaths(m reflect.Value, dir string) {
	for _, key := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(key))
		resolvePaths(value, dir)
		m.SetMapIndex(key, value)
	}
}

// configProblems turns the YAML library's error into one line per problem, in the user's words.
func configProblems(err error) []string {
	var many *yaml.LoadErrors
	if !errors.As(err, &many) {
		return []string{inPlainWords(err.Error())}
	}
	var lines []string
	for _, e := range many.Errors {
		lines = append(lines, plainType(inPlainWords(e.Error())))
	}
	return lines
}

// inPlainWords replaces the library's words for what is wrong with a whole document.
func inPlainWords(msg string) string {
	switch {
	case strings.Contains(msg, "no documents in stream"):
		return "the file is empty"
	case strings.Contains(msg, "found multiple"):
		return "the file has several documents (a line ---); only one is read"
	}
	return yamlPosition.ReplaceAllString(msg, "line $1: ")
}

// wrongType matches what the YAML library says about a value that does not fit: its tag, the value, Go's type.
var wrongType = regexp.MustCompile("cannot construct !!(\\w+)(?: `(.*)`)? into (\\S+)$")

// plainType replaces the library's words for a value of the wrong type.
func plainType(msg string) string {
	m := wrongType.FindStringSubmatchIndex(msg)
	if m == nil {
		return msg
	}
	tag, value, kind := msg[m[2]:m[3]], "", msg[m[6]:m[7]]
	if m[4] >= 0 {
		value = fmt.Sprintf(" %q", msg[m[4]:m[5]])
	}
	found, known := tagsInWords[tag]
	if !known {
		found = "a " + tag
	}
	return fmt.Sprintf("%s%s%s does not fit: expected %s", msg[:m[0]], found, value, typeInWords(kind))
}

var tagsInWords = map[string]string{
	"seq": "a list", "map": "a section", "str": "the text", "int": "the number", "float": "the number", "bool": "the value",
}

func typeInWords(kind string) string {
	switch {
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number from 0"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "string", kind == "pipeline.Path":
		return "text"
	}
	return "a section with keys"
}

// flattenErrors returns one line per error of an errors.Join tree; none for nil.
func flattenErrors(err error) []string {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range many.Unwrap() {
			lines = append(lines, flattenErrors(e)...)
		}
		return lines
	}
	return []string{err.Error()}
}
