package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// libraryProblems turns the YAML library's error into one line per problem, in plain words.
func libraryProblems(err error) []string {
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

// inPlainWords rewords an error of the library about a whole document.
func inPlainWords(msg string) string {
	switch {
	case strings.Contains(msg, "no documents in stream"):
		return "the file is empty"
	case strings.Contains(msg, "found multiple"):
		return "the file has several documents (a line ---); only one is read"
	}
	return yamlPosition.ReplaceAllString(msg, "line $1: ")
}

// wrongType matches the YAML library's error about a value of the wrong type: its tag, the value, Go's type.
var wrongType = regexp.MustCompile("cannot construct !!(\\w+)(?: `(.*)`)? into (\\S+)$")

// plainType rewords the library's error about a value of the wrong type.
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
	"seq": "a list", "map": "a section", "str": "the string", "int": "the number", "float": "the number", "bool": "the value",
}

// typeInWords names a type of value as people who write YAML know it. kind is a type or a kind as package reflect
// prints it, such as "[]string" or "slice".
func typeInWords(kind string) string {
	switch {
	case strings.HasPrefix(kind, "["), kind == "slice", kind == "array":
		return "a list"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number from 0"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "string", kind == "config.Path":
		return "a string"
	}
	return "a section with keys"
}

var yamlPosition = regexp.MustCompile(`^go-yaml load error in .*? at L(\d+)[^:]*: `)
