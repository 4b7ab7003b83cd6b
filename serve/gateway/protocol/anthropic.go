package protocol

import (
	"net/http"
	"strings"
)

// Anthropic is a service with Anthropic's protocol.
var Anthropic = &Kind{Name: "anthropic", Format: Messages, URL: anthropicURL, Authorize: anthropicKey, Also: []Caller{CountTokens}}

// anthropicVersion is the version of the protocol, if the caller or the settings name none.
const anthropicVersion = "2023-06-01"

// anthropicURL is the address of a call. A base without a path gets /v1.
func anthropicURL(base, _ string, f Format, _ bool) string {
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	base = strings.TrimRight(strings.TrimSuffix(base, "/messages"), "/")
	if _, rest, _ := strings.Cut(base, "://"); !strings.Contains(rest, "/") {
		base += "/v1"
	}
	if f == CountTokens {
		return base + "/messages/count_tokens"
	}
	return base + "/messages"
}

// anthropicKey sets the headers of a call.
func anthropicKey(h http.Header, key string) {
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", anthropicVersion)
	}
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}
