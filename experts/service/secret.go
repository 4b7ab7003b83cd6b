package service

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"pipe/internal/textfile"
)

// Secret is a key. Its text goes into one header and nowhere else.
type Secret string

// ReadSecret returns the value of an environment variable if it can be sent in
// a header.
func ReadSecret(name string) (Secret, error) {
	return secretOf("the environment variable "+name, os.Getenv(name))
}

// ReadSecretFile returns the text of a file, without white space at its ends, if it can be sent in a header.
func ReadSecretFile(path string) (Secret, error) {
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if err != nil {
		return "", fmt.Errorf("read key: %w", err)
	}
	return secretOf(fmt.Sprintf("the file %q", path), string(text))
}

// secretOf checks the text of a key; where names its place in errors.
func secretOf(where, text string) (Secret, error) {
	value := strings.TrimSpace(text)
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty", where)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", fmt.Errorf("%s holds several lines, or control characters", where)
	}
	return Secret(value), nil
}

var variable = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

// IsVariable reports whether a string is the name of an environment variable
// rather than a key: capitals, and no long run of letters and digits.
func IsVariable(name string) bool {
	const longest = 24
	long := func(word string) bool { return len(word) > longest }
	return variable.MatchString(name) && !slices.ContainsFunc(strings.Split(name, "_"), long)
}

// String hides the key in printed values.
func (Secret) String() string { return "[key]" }

// GoString hides the key in printed values.
func (Secret) GoString() string { return "[key]" }

// Excerpt returns the beginning of a response without the key, fit for one line of an
// error.
func (k Secret) Excerpt(text []byte) string {
	const read, most = 4096, 200
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, k.Redact(strings.ToValidUTF8(string(text[:min(read, len(text))]), "")))
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "..."
	}
	if line == "" {
		return "the response is empty"
	}
	return line
}

// Redact replaces the key, and every piece of it of eight bytes or more, in all
// spellings: in another letter case, backwards, in hexadecimal, in base64, or
// escaped.
func (k Secret) Redact(text string) string {
	if k == "" {
		return text
	}
	return k.redactor(8).replace(text)
}

// RedactAnswer replaces the key, and every piece of it of 16 bytes or more, in an answer,
// whose words may look like a shorter piece.
func (k Secret) RedactAnswer(text string) string {
	if len(k) < 8 {
		return text
	}
	return k.redactor(16).replace(text)
}

// redactors caches redactors by key and piece: making one takes longer than using it on a page.
var redactors sync.Map

// redactor returns the redactor of the key for pieces of at least the given number of bytes.
func (k Secret) redactor(piece int) *redactor {
	type use struct {
		key   Secret
		piece int
	}
	if r, ok := redactors.Load(use{k, piece}); ok {
		return r.(*redactor)
	}
	r, _ := redactors.LoadOrStore(use{k, piece}, newRedactor(string(k), piece))
	return r.(*redactor)
}
