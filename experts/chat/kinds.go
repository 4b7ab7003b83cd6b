package chat

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// kinds are the kinds of chat models. A new one is a file with its settings
// and its constructor, and one line here.
var kinds = map[string]func(context.Context, *part.Setup, map[string]any) (Model, error){
	"endpoint":    newEndpointChat,
	"onnx_causal": newCausalChat,
}

// Open makes the chat model of a part. settings are its kind, under the key "kind", and
// the settings of that kind; both become inputs of the build. The caller closes it.
func Open(ctx context.Context, s *part.Setup, settings map[string]any) (Model, error) {
	kind, rest, err := splitKind(settings)
	if err != nil {
		return nil, err
	}
	create, err := part.Lookup(kinds, kind)
	if err != nil {
		return nil, err
	}
	if err := s.InputJSON("kind", kind); err != nil {
		return nil, err
	}
	return create(ctx, s, rest)
}

// splitKind separates the kind from the other settings.
func splitKind(settings map[string]any) (kind string, rest map[string]any, err error) {
	rest = make(map[string]any, len(settings))
	for name, v := range settings {
		if name != "kind" {
			rest[name] = v
		}
	}
	kind, ok := settings["kind"].(string)
	if !ok {
		return "", nil, errors.New("kind: not set; known are " + part.Known(kinds))
	}
	return kind, rest, nil
}
