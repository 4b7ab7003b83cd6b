package gatewaytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// geminiDialect is Google's API for Gemini models.
var geminiDialect = Dialect{Base: "/v1beta", Read: readGemini, Write: writeGemini, Event: streamGemini, Error: geminiError}

func geminiError(status int, text string) []byte {
	return []byte(compact(object{"error": object{"code": status, "message": text, "status": "INVALID_ARGUMENT"}}))
}

type geminiContent struct {
	Role  string
	Parts []struct {
		Text   string
		Inline *struct {
			Type string `json:"mimeType"`
			Data string
		} `json:"inlineData"`
		Call *struct {
			ID, Name string
			Args     any
		} `json:"functionCall"`
		Result *struct {
			ID, Name string
			Response struct{ Output, Error string }
		} `json:"functionResponse"`
		Signature string `json:"thoughtSignature"`
	}
}

type geminiRequest struct {
	System   geminiContent `json:"systemInstruction"`
	Contents []geminiContent
	Tools    []struct {
		Functions []struct {
			Name, Description string
			Schema            any `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	}
	Choice struct {
		Config struct {
			Mode  string
			Names []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config struct {
		Max         int `json:"maxOutputTokens"`
		Temperature *float64
		TopP        *float64 `json:"topP"`
		Stop        []string `json:"stopSequences"`
		Schema      any      `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

func readGemini(r *http.Request, body []byte) (*Seen, error) {
	var q geminiRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	name, call, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1beta/models/"), ":")
	if !ok || len(q.Contents) == 0 {
		return nil, fmt.Errorf("no contents at %s", r.URL.Path)
	}
	s := &Seen{
		Path: r.URL.Path, Model: name, Stream: call == "streamGenerateContent", Usage: true, Max: q.Config.Max, Temperature: q.Config.Temperature,
		TopP: q.Config.TopP, Stop: q.Config.Stop, Schema: q.Config.Schema,
	}
	if s.Stream && r.URL.Query().Get("alt") != "sse" {
		return nil, errors.New("a stream without alt=sse")
	}
	for _, p := range q.System.Parts {
		s.system(p.Text)
	}
	for i, c := range q.Contents {
		if err := s.geminiContent(c); err != nil {
			return nil, fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	for _, t := range q.Tools {
		for _, f := range t.Functions {
			s.Tools = append(s.Tools, Tool{f.Name, f.Description, f.Schema})
		}
	}
	switch mode := q.Choice.Config; mode.Mode {
	case "NONE":
		s.Choice = "none"
	case "ANY":
		if s.Choice = "required"; len(mode.Names) == 1 {
			s.Choice = mode.Names[0]
		}
	}
	return s, nil
}

func (s *Seen) geminiContent(c geminiContent) error {
	role := map[string]string{"user": "user", "model": "assistant"}[c.Role]
	if role == "" || len(c.Parts) == 0 {
		return fmt.Errorf("role %q with %d parts", c.Role, len(c.Parts))
	}
	for _, p := range c.Parts {
		switch {
		case p.Inline != nil:
			s.image(p.Inline.Type, p.Inline.Data)
		case p.Call != nil:
			if strings.HasPrefix(s.Model, "gemini-3") && p.Signature == "" {
				return refusal("Function call is missing a thought_signature")
			}
			s.call(p.Call.ID, p.Call.Name, p.Call.Args)
		case p.Result != nil:
			if p.Result.Name == "" {
				return errors.New("a functionResponse without a name")
			}
			if err := s.result(p.Result.ID, p.Result.Response.Output+p.Result.Response.Error); err != nil {
				return err
			}
		default:
			s.add(role, p.Text)
		}
	}
	return nil
}

func geminiUsage(a Said) object {
	return object{
		"promptTokenCount": a.In, "cachedContentTokenCount": a.Cached, "candidatesTokenCount": a.Out - a.Reasoned,
		"thoughtsTokenCount": a.Reasoned, "totalTokenCount": a.In + a.Out,
	}
}

// geminiAnswer is an answer with parts; finish is "" within a stream.
func geminiAnswer(s *Seen, a Said, parts []any, finish string) object {
	c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		c["finishReason"] = finish
	}
	return object{"candidates": []any{c}, "usageMetadata": geminiUsage(a), "modelVersion": s.Model, "responseId": s.Digest()}
}

func geminiFinish(a Said) string {
	if a.Finish == "length" {
		return "MAX_TOKENS"
	}
	return "STOP"
}

func geminiCalls(a Said) (parts []any) {
	for i, c := range a.Calls {
		p := object{"functionCall": object{"name": c.Name, "args": c.Args}}
		if i == 0 {
			p["thoughtSignature"] = "c2lnbmF0dXJl"
		}
		parts = append(parts, p)
	}
	return parts
}

func writeGemini(s *Seen, a Said) []byte {
	parts := []any{}
	if a.Thinking != "" {
		parts = append(parts, object{"text": a.Thinking, "thought": true})
	}
	if a.Text != "" {
		parts = append(parts, object{"text": a.Text})
	}
	return []byte(compact(geminiAnswer(s, a, append(parts, geminiCalls(a)...), geminiFinish(a))))
}

func streamGemini(s *Seen, a Said) (out []string) {
	send := func(parts ...any) { out = append(out, event("", geminiAnswer(s, a, parts, ""))) }
	for _, w := range wordsOf(a.Thinking) {
		send(object{"text": w, "thought": true})
	}
	for _, w := range wordsOf(a.Text) {
		send(object{"text": w})
	}
	if calls := geminiCalls(a); calls != nil {
		send(calls...)
	}
	return append(out, event("", geminiAnswer(s, a, []any{object{"text": ""}}, geminiFinish(a))))
}
