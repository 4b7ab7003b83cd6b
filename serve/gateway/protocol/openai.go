package protocol

import (
	"net/http"
	"strings"

	"pipe/experts/service"
)

// OpenAI is a service with OpenAI's chat completions.
var OpenAI = &Kind{
	Name: "openai", Format: Chat,
	URL: func(base, _ string, f Format, _ bool) string {
		url := service.ChatURL(base)
		if f == Chat {
			return url
		}
		return strings.TrimSuffix(url, "chat/completions") + f.Name()
	},
	Authorize: bearer, Also: []Caller{Embeddings, Completions},
}

// OpenAIResponses is a service with OpenAI's responses.
var OpenAIResponses = &Kind{
	Name: "responses", Format: Responses, Authorize: bearer,
	URL: func(base, _ string, _ Format, _ bool) string {
		base = strings.TrimRight(strings.TrimSpace(base), "/")
		base = strings.TrimSuffix(service.ChatURL(strings.TrimSuffix(base, "/responses")), "chat/completions")
		return base + "responses"
	},
}

// bearer sends a key as most services read it.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}
