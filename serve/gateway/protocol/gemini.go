package protocol

import (
	"net/http"
	"net/url"
	"strings"

	"pipe/serve/gateway/protocol/services"
)

// Gemini is Google's service of Gemini models, with its own protocol. Its base_url ends in the version of the API, such as
// https://generativelanguage.googleapis.com/v1beta.
var Gemini = &Kind{
	Name: "gemini", Format: services.Gemini{},
	URL: func(base, model string, _ Format, stream bool) string {
		call := ":generateContent"
		if stream {
			call = ":streamGenerateContent?alt=sse"
		}
		return strings.TrimSuffix(base, "/") + "/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + call
	},
	Authorize: func(h http.Header, key string) {
		if key != "" {
			h.Set("X-Goog-Api-Key", key)
		}
	},
}
