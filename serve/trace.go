package serve

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// The headers that identify a request. The server sets both on every request before its handler, and on calls of experts.
const (
	headerRequest = "X-Request-Id"
	headerTrace   = "Traceparent"
)

// traceparent is a W3C trace context, version 00: the trace of a request through all programs, and the span of one of them.
type traceparent struct {
	trace, span, flags string // 32, 16 and 2 hexadecimal digits
}

// traceFor returns the trace context of this server for a request. It continues the trace of the caller if the header is
// valid, and else starts a new one that is not sampled.
func traceFor(header string) traceparent {
	t, ok := parseTrace(header)
	if !ok {
		t = traceparent{trace: randomHex(16), flags: "00"}
	}
	t.span = randomHex(8)
	return t
}

// parseTrace parses a header. Fields of later versions are ignored, as the specification requires.
func parseTrace(header string) (t traceparent, ok bool) {
	fields := strings.Split(strings.TrimSpace(header), "-")
	if len(fields) < 4 || fields[0] == "ff" || !isHex(fields[0], 2) || fields[0] == "00" && len(fields) != 4 {
		return t, false
	}
	t = traceparent{fields[1], fields[2], fields[3]}
	ok = isHex(t.trace, 32) && isHex(t.span, 16) && isHex(t.flags, 2) && strings.Trim(t.trace, "0") != "" && strings.Trim(t.span, "0") != ""
	return t, ok
}

// String is the header's value.
func (t traceparent) String() string { return "00-" + t.trace + "-" + t.span + "-" + t.flags }

// isHex reports whether a text is n hexadecimal digits in lower case.
func isHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	var b [16]byte
	_, _ = rand.Read(b[:n]) // it never fails
	return hex.EncodeToString(b[:n])
}

// requestID returns the id of a request: that of the header if it is printable and short, and else a new one.
func requestID(header string) string {
	if header == "" || len(header) > 128 {
		return randomHex(16)
	}
	for _, c := range []byte(header) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return randomHex(16)
		}
	}
	return header
}
