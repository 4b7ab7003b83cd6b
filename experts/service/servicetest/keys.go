package servicetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// The key of tests, and the environment variable that a test puts it into.
const (
	KeyVariable = "PIPE_TEST_CHAT_KEY"
	Key         = "sk-test-8Jf0qLw2TzYv6RmXcN4b"
)

// Spellings are forms in which a service may return a key, by name.
var Spellings = map[string]func(string) string{
	"as it is":          func(k string) string { return k },
	"upper case":        strings.ToUpper,
	"lower case":        strings.ToLower,
	"base64":            func(k string) string { return base64.StdEncoding.EncodeToString([]byte(k)) },
	"base64, raw":       func(k string) string { return base64.RawStdEncoding.EncodeToString([]byte(k)) },
	"base64, of URLs":   func(k string) string { return base64.URLEncoding.EncodeToString([]byte(k)) },
	"base64, user":      func(k string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + k)) },
	"base64, Bearer":    func(k string) string { return base64.RawURLEncoding.EncodeToString([]byte("Bearer " + k + "\n")) },
	"base64 in a URL":   func(k string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("a:" + k))) },
	"base64 in lines":   func(k string) string { return lines(base64.StdEncoding.EncodeToString([]byte("xy:"+k)), 19) },
	"hexadecimal":       func(k string) string { return hex.EncodeToString([]byte(k)) },
	"hexadecimal, caps": func(k string) string { return strings.ToUpper(hex.EncodeToString([]byte(k))) },
	"backwards":         func(k string) string { b := []byte(k); slices.Reverse(b); return string(b) },
	"as a URL":          url.QueryEscape,
	"every byte of it":  func(k string) string { return each(k, "%%%02X") },
	"twice":             func(k string) string { return url.QueryEscape(each(k, "%%%02x")) },
	"as JSON":           func(k string) string { b, _ := json.Marshal(k); return string(b) },
	"as JSON in JSON":   func(k string) string { b, _ := json.Marshal(k); b, _ = json.Marshal(string(b)); return string(b) },
	"as \\u":            func(k string) string { return each(k, "\\u%04x") },
	"as \\U in JSON":    func(k string) string { return each(k, "\\\\u%04X") },
	"as HTML":           html.EscapeString,
	"as numbers":        func(k string) string { return each(k, "&#%d;") },
	"as hex numbers":    func(k string) string { return each(k, "&#x%x;") },
	"in words":          func(k string) string { return lines(k, 5) },
	"its beginning":     func(k string) string { return k[:8] + "..." },
	"its end":           func(k string) string { return "..." + strings.ToUpper(k[len(k)-8:]) },
}

func each(k, format string) string {
	var b strings.Builder
	for i := range len(k) {
		fmt.Fprintf(&b, format, k[i])
	}
	return b.String()
}

func lines(text string, width int) string {
	var b strings.Builder
	for i := 0; i < len(text); i += width {
		b.WriteString(text[i:min(i+width, len(text))] + "\r\n ")
	}
	return b.String()
}
