package build

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secret is a key. Its text goes into one header and nowhere else.
type secret string

// readSecret returns what an environment variable holds, where that can stand in a
// header.
func readSecret(name string) (secret, error) {
	value := strings.TrimSpace(os.Getenv(name))
	switch {
	case value == "":
		return "", fmt.Errorf("the environment variable %s is empty", name)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", fmt.Errorf("the environment variable %s holds several lines, or control characters", name)
	}
	return secret(value), nil
}

var variable = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

// isVariable tells names of environment variables from keys: capitals, and no
// long run of letters and digits.
func isVariable(name string) bool {
	const longest = 24
	long := func(word string) bool { return len(word) > longest }
	return variable.MatchString(name) && !slices.ContainsFunc(strings.Split(name, "_"), long)
}

// String keeps a key out of whatever is printed.
func (secret) String() string { return "[key]" }

// GoString keeps a key out of whatever is printed.
func (secret) GoString() string { return "[key]" }

// excerpt returns the beginning of a response, fit for one line of an error.
func (k secret) excerpt(text []byte) string {
	const read, most = 4096, 200
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, k.hide(strings.ToValidUTF8(string(text[:min(read, len(text))]), "")))
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "..."
	}
	if line == "" {
		return "the response is empty"
	}
	return line
}

// hide replaces the key, and every piece of it of eight bytes or more, in whichever
// way it is spelled; see redactor.
func (k secret) hide(text string) string {
	if k == "" {
		return text
	}
	return k.redactor(8).replace(text)
}

// hideIn replaces the key in an answer, whose words may look like a piece of one.
func (k secret) hideIn(text string) string {
	if len(k) < 8 {
		return text
	}
	return k.redactor(16).replace(text)
}

// redactors are those that were made, by key and piece: to make one takes longer than to use it on a page.
var redactors sync.Map

// redactor returns the redactor of the key for pieces of at least the given number of bytes.
func (k secret) redactor(piece int) *redactor {
	type use struct {
		key   secret
		piece int
	}
	if r, ok := redactors.Load(use{k, piece}); ok {
		return r.(*redactor)
	}
	r, _ := redactors.LoadOrStore(use{k, piece}, newRedactor(string(k), piece))
	return r.(*redactor)
}
