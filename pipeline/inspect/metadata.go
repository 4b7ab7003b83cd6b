package inspect

import "encoding/json"

// asJSON keeps a value that is JSON and quotes one that is text.
func asJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	quoted, _ := json.Marshal(value) // a string always has a JSON form
	return quoted
}

func flatten(dst map[string]string, name string, value any) {
	if m, ok := value.(map[string]any); ok {
		for key, v := range m {
			flatten(dst, name+"."+key, v)
		}
		return
	}
	if s, ok := value.(string); ok {
		dst[name] = s
		return
	}
	text, err := json.Marshal(value)
	if err == nil { // value came from JSON, so it goes back
		dst[name] = string(text)
	}
}
