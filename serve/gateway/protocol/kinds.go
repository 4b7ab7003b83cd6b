package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

// kinds are all kinds of experts. A new one is a file and a line here.
var kinds = []*Kind{
	OpenAI,
	OpenAIResponses,
	Anthropic,
	Azure,
	Gemini,
	Ollama,
	Bedrock,
}

// callers are the protocols of callers, by the path under /v1/.
var callers = map[string]Caller{
	"chat/completions":      Chat,
	"messages":              Messages,
	"responses":             Responses,
	"embeddings":            Embeddings,
	"completions":           Completions,
	"messages/count_tokens": CountTokens,
}

// Callers are the protocols of callers, by the path under /v1/.
func Callers() map[string]Caller { return maps.Clone(callers) }

// KindOf returns the kind of a name; "" is that of most services.
func KindOf(name string) (*Kind, error) {
	var names []string
	for _, k := range kinds {
		if k.Name == cmp.Or(name, OpenAI.Name) {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("is %q, none of %s", name, strings.Join(names, ", "))
}
