package gatewaytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// bedrockDialect is Amazon's API Converse.
var bedrockDialect = Dialect{
	Base: "", Read: readBedrock, Write: writeBedrock, Event: streamBedrock, Error: bedrockError, Type: "application/vnd.amazon.eventstream",
}

func bedrockError(_ int, text string) []byte { return []byte(compact(object{"message": text})) }

type bedrockBlock struct {
	Text  string
	Image *struct {
		Format string
		Source struct{ Bytes string }
	}
	Use *struct {
		ID    string `json:"toolUseId"`
		Name  string
		Input any
	} `json:"toolUse"`
	Result *struct {
		ID      string `json:"toolUseId"`
		Content []struct{ Text string }
	} `json:"toolResult"`
	Reasoning *struct {
		Text struct{ Text, Signature string } `json:"reasoningText"`
	} `json:"reasoningContent"`
}

type bedrockRequest struct {
	System   []bedrockBlock
	Messages []struct {
		Role    string
		Content []bedrockBlock
	}
	Tools *struct {
		Tools []struct {
			Spec struct {
				Name, Description string
				Schema            struct{ JSON any } `json:"inputSchema"`
			} `json:"toolSpec"`
		}
		Choice struct {
			Any  any
			Tool struct{ Name string }
		} `json:"toolChoice"`
	} `json:"toolConfig"`
	Config struct {
		Max         int `json:"maxTokens"`
		Temperature *float64
		TopP        *float64 `json:"topP"`
		Stop        []string `json:"stopSequences"`
	} `json:"inferenceConfig"`
}

func readBedrock(r *http.Request, body []byte) (*Seen, error) {
	var q bedrockRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	path := strings.Split(r.URL.EscapedPath(), "/")
	auth := r.Header.Get("Authorization")
	switch {
	case len(path) != 4 || path[1] != "model" || len(q.Messages) == 0 || q.Messages[0].Role != "user":
		return nil, fmt.Errorf("no messages of a user at %s", r.URL.Path)
	case !strings.HasPrefix(auth, "Bearer ") && !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=") || r.Header.Get("X-Amz-Date") == "" && auth[0] == 'A':
		return nil, errors.New("no signature")
	}
	s := &Seen{Path: r.URL.Path, Model: path[2], Stream: path[3] == "converse-stream", Usage: true, Max: q.Config.Max, Temperature: q.Config.Temperature, TopP: q.Config.TopP, Stop: q.Config.Stop}
	for _, b := range q.System {
		s.system(b.Text)
	}
	role := "assistant"
	for i, m := range q.Messages {
		if m.Role == role || len(m.Content) == 0 {
			return nil, fmt.Errorf("messages.%d: roles must alternate, and have content", i)
		}
		role = m.Role
		for _, b := range m.Content {
			if err := s.bedrockBlock(role, b, q.Tools != nil); err != nil {
				return nil, fmt.Errorf("messages.%d: %w", i, err)
			}
		}
	}
	if q.Tools != nil {
		for _, t := range q.Tools.Tools {
			s.Tools = append(s.Tools, Tool{t.Spec.Name, t.Spec.Description, t.Spec.Schema.JSON})
		}
		if s.Choice = q.Tools.Choice.Tool.Name; q.Tools.Choice.Any != nil {
			s.Choice = "required"
		}
	}
	return s, nil
}

func (s *Seen) bedrockBlock(role string, b bedrockBlock, tools bool) error {
	switch {
	case (b.Use != nil || b.Result != nil) && !tools:
		return refusal("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	case b.Reasoning != nil:
		if b.Reasoning.Text.Signature != "c2ln" {
			return errors.New("a reasoning with another signature")
		}
	case b.Image != nil:
		s.image("image/"+b.Image.Format, b.Image.Source.Bytes)
	case b.Use != nil:
		s.call(b.Use.ID, b.Use.Name, b.Use.Input)
	case b.Result != nil:
		var texts []string
		for _, c := range b.Result.Content {
			texts = append(texts, c.Text)
		}
		return s.result(b.Result.ID, strings.Join(texts, "\n"))
	case strings.TrimSpace(b.Text) == "":
		return refusal("The text field in the ContentBlock object is blank.")
	default:
		s.add(role, b.Text)
	}
	return nil
}

func bedrockUsage(a Said) object {
	return object{"inputTokens": a.In - a.Cached, "outputTokens": a.Out, "totalTokens": a.In + a.Out, "cacheReadInputTokens": a.Cached, "cacheWriteInputTokens": 0}
}

func bedrockStop(a Said) string {
	return map[string]string{"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"}[a.Finish]
}

func writeBedrock(_ *Seen, a Said) []byte {
	content := []any{}
	if a.Thinking != "" {
		content = append(content, object{"reasoningContent": object{"reasoningText": object{"text": a.Thinking, "signature": "c2ln"}}})
	}
	if a.Text != "" {
		content = append(content, object{"text": a.Text})
	}
	for _, c := range a.Calls {
		content = append(content, object{"toolUse": object{"toolUseId": c.ID, "name": c.Name, "input": c.Args}})
	}
	return []byte(compact(object{
		"output": object{"message": object{"role": "assistant", "content": content}}, "stopReason": bedrockStop(a),
		"usage": bedrockUsage(a), "metrics": object{"latencyMs": 1},
	}))
}

func streamBedrock(_ *Seen, a Said) (out []string) {
	send := func(name string, data object) { out = append(out, BedrockMessage("event", name, compact(data))) }
	n := 0
	block := func(start object, deltas []object) {
		if start != nil {
			send("contentBlockStart", object{"contentBlockIndex": n, "start": start})
		}
		for _, d := range deltas {
			send("contentBlockDelta", object{"contentBlockIndex": n, "delta": d})
		}
		send("contentBlockStop", object{"contentBlockIndex": n})
		n++
	}
	send("messageStart", object{"role": "assistant"})
	if a.Thinking != "" {
		var deltas []object
		for _, w := range wordsOf(a.Thinking) {
			deltas = append(deltas, object{"reasoningContent": object{"text": w}})
		}
		block(nil, append(deltas, object{"reasoningContent": object{"signature": "c2ln"}}))
	}
	if a.Text != "" {
		var deltas []object
		for _, w := range wordsOf(a.Text) {
			deltas = append(deltas, object{"text": w})
		}
		block(nil, deltas)
	}
	for _, c := range a.Calls {
		var deltas []object
		for _, half := range halves(c.Args) {
			deltas = append(deltas, object{"toolUse": object{"input": half}})
		}
		block(object{"toolUse": object{"toolUseId": c.ID, "name": c.Name}}, deltas)
	}
	send("messageStop", object{"stopReason": bedrockStop(a)})
	send("metadata", object{"usage": bedrockUsage(a), "metrics": object{"latencyMs": 1}})
	return out
}

// BedrockMessage is a binary message of a kind, event or exception, with a name.
func BedrockMessage(kind, name, payload string) string {
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = []byte(payload)
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}
