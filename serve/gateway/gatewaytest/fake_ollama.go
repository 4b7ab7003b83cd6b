package gatewaytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// ollamaDialect is Ollama's API.
var ollamaDialect = Dialect{Base: "", Read: readOllama, Write: writeOllama, Event: streamOllama, Error: ollamaError, Type: "application/x-ndjson"}

func ollamaError(_ int, text string) []byte { return []byte(compact(object{"error": text})) }

type ollamaRequest struct {
	Model    string
	Stream   *bool
	Truncate *bool
	Messages []struct {
		Role, Content string
		Images        []string
		Calls         []struct {
			ID       string
			Function struct {
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	}
	Tools []struct {
		Function struct {
			Name, Description string
			Parameters        any
		}
	}
	Options struct {
		Max         int `json:"num_predict"`
		Temperature *float64
		TopP        *float64 `json:"top_p"`
		Stop        []string
	}
	Format any
}

func readOllama(r *http.Request, body []byte) (*Seen, error) {
	var q ollamaRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if len(q.Messages) == 0 || r.URL.Path != "/api/chat" || q.Truncate == nil || *q.Truncate {
		return nil, fmt.Errorf("no messages at %s, or they may be truncated", r.URL.Path)
	}
	s := &Seen{
		Path: r.URL.Path, Model: q.Model, Stream: q.Stream == nil || *q.Stream, Usage: true, Max: q.Options.Max, Temperature: q.Options.Temperature,
		TopP: q.Options.TopP, Stop: q.Options.Stop, Schema: q.Format,
	}
	for i, m := range q.Messages {
		switch m.Role {
		case "system":
			s.system(m.Content)
		case "user", "assistant":
			s.add(m.Role, m.Content)
			for _, data := range m.Images {
				s.image("image/png", data)
			}
			for _, c := range m.Calls {
				s.call(c.ID, c.Function.Name, any(c.Function.Arguments))
			}
		case "tool":
			if err := s.result(m.CallID, m.Content); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("messages[%d]: role %q", i, m.Role)
		}
	}
	for _, t := range q.Tools {
		s.Tools = append(s.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	return s, nil
}

// ollamaAnswer is a whole answer, or a line of a stream.
func ollamaAnswer(s *Seen, message object) object {
	message["role"] = "assistant"
	return object{"model": s.Model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false}
}

func ollamaDone(a Said, o object) object {
	o["done"], o["done_reason"], o["total_duration"] = true, strings.ReplaceAll(a.Finish, "calls", "stop"), 1
	o["prompt_eval_count"], o["eval_count"] = a.In, a.Out
	return o
}

func ollamaCalls(a Said) (calls []any) {
	for i, c := range a.Calls {
		calls = append(calls, object{"function": object{"index": i, "name": c.Name, "arguments": c.Args}})
	}
	return calls
}

func writeOllama(s *Seen, a Said) []byte {
	m := object{"content": a.Text}
	if a.Thinking != "" {
		m["thinking"] = a.Thinking
	}
	if calls := ollamaCalls(a); calls != nil {
		m["tool_calls"] = calls
	}
	return []byte(compact(ollamaDone(a, ollamaAnswer(s, m))))
}

func streamOllama(s *Seen, a Said) (out []string) {
	send := func(o object) { out = append(out, compact(o)+"\n") }
	for _, w := range wordsOf(a.Thinking) {
		send(ollamaAnswer(s, object{"content": "", "thinking": w}))
	}
	for _, w := range wordsOf(a.Text) {
		send(ollamaAnswer(s, object{"content": w}))
	}
	if calls := ollamaCalls(a); calls != nil {
		send(ollamaAnswer(s, object{"content": "", "tool_calls": calls}))
	}
	send(ollamaDone(a, ollamaAnswer(s, object{"content": ""})))
	return out
}
