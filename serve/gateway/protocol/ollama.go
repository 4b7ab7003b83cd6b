package protocol

import (
	"io"
	"strings"

	"pipe/serve/gateway/protocol/services"
)

// Ollama is a local server of open models, with its own protocol. Its base_url has no path, such as http://127.0.0.1:11434.
var Ollama = &Kind{
	Name: "ollama", Format: services.Ollama{},
	URL: func(base, _ string, _ Format, _ bool) string {
		base = strings.TrimRight(strings.TrimSpace(base), "/")
		for _, path := range []string{"/api/chat", "/v1"} { // the latter is where the server has OpenAI's protocol
			base = strings.TrimSuffix(base, path)
		}
		return base + "/api/chat"
	},
	Authorize:   bearer,
	Frames:      func(in io.Reader, most int) Frames { return services.NewLines(in, most) },
	StreamTypes: []string{"application/x-ndjson"},
}
