package protocol_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// TestKindsRefuseByName: what a kind of expert has no place for is an error that names the caller's field.
func TestKindsRefuseByName(t *testing.T) {
	const tool = `"tools":[{"type":"function","function":{"name":"f"}}],`
	const hello = `"messages":[{"role":"user","content":"a"}]`
	called := `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`
	link := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]}]`
	tiff := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}]`
	sound := `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]`
	for _, c := range []struct{ kinds, fields, param string }{
		{"gemini ollama bedrock", link, "messages"},
		{"bedrock", tiff, "messages"},
		{"ollama bedrock", sound, "messages"},
		{"ollama", tool + `"tool_choice":"required",` + hello, "tool_choice"},
		{"ollama", tool + `"tool_choice":{"type":"function","function":{"name":"f"}},` + hello, "tool_choice"},
		{"gemini ollama bedrock", tool + `"parallel_tool_calls":false,` + hello, "parallel_tool_calls"},
		{"bedrock", called, "tools"},
		{"bedrock", tool + `"tool_choice":"none",` + called, "tool_choice"},
		{"bedrock", `"response_format":{"type":"json_object"},` + hello, "response_format"},
		{"bedrock", `"reasoning_effort":"high",` + hello, "reasoning_effort"},
		{"bedrock", `"seed":1,` + hello, "seed"},
		{"gemini ollama bedrock", `"logit_bias":{"1":2},` + hello, "logit_bias"},
		{"gemini ollama bedrock", `"metadata":{"a":"b"},` + hello, "metadata"},
		{"gemini ollama bedrock", `"verbosity":"low",` + hello, "verbosity"},
		{"gemini ollama bedrock", `"logprobs":true,` + hello, "logprobs"},
		{"gemini ollama bedrock", `"n":2,` + hello, "n"},
	} {
		for kind := range strings.FieldsSeq(c.kinds) {
			_, _, err := translate(t, kind, c.fields)
			var field *middle.FieldError
			if !errors.As(err, &field) || field.Param != c.param {
				t.Errorf("%s: %s: %v, want an error that names %s", kind, c.fields, err, c.param)
			}
		}
	}
}

func translate(t *testing.T, kind, fields string) (string, []string, error) {
	t.Helper()
	k, err := protocol.KindOf(kind)
	if err != nil {
		t.Fatal(err)
	}
	in, err := protocol.Chat.ReadRequest([]byte(`{"model":"p",` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	body, changed, err := k.Translate(in, nil, protocol.Target{Model: outKinds[kind][0]})
	return string(body), changed, err
}

// TestKindsSayWhatChanged: what a kind changes is in words, and what it writes is there.
func TestKindsSayWhatChanged(t *testing.T) {
	const tool = `"tools":[{"type":"function","function":{"name":"f"}}],`
	const hello = `"messages":[{"role":"user","content":"a"}]`
	late := `"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]`
	for _, c := range []struct{ kind, fields, changed, wrote string }{
		{"gemini", `"reasoning_effort":"max",` + hello, "the effort max became high", `"thinkingLevel":"high"`},
		{"gemini", `"user":"u","prompt_cache_key":"k",` + hello, "prompt_cache_key was left out", `"contents"`},
		{"gemini", late, "a message of the system within the conversation was put at its beginning", `"systemInstruction":{"parts":[{"text":"b"}]}`},
		{"ollama", `"reasoning_effort":"minimal",` + hello, "the effort minimal became low", `"think":"low"`},
		{"ollama", `"reasoning_effort":"none",` + hello, "", `"think":false`},
		{"ollama", tool + `"tool_choice":"none",` + hello, "tools were left out, since none may be called", `"truncate":false`},
		{"ollama", `"response_format":{"type":"json_object"},` + hello, "", `"format":"json"`},
		{"bedrock", tool + `"tool_choice":"none",` + hello, "tools were left out, since none may be called", `"messages"`},
		{"bedrock", `"messages":[{"role":"user","content":[{"type":"text","text":" "},{"type":"text","text":"a"}]}]`, "blank texts were left out", `"content":[{"text":"a"}]`},
	} {
		body, changed, err := translate(t, c.kind, c.fields)
		if err != nil || !strings.Contains(strings.Join(changed, "; "), c.changed) || !strings.Contains(body, c.wrote) {
			t.Errorf("%s: %s\nchanged %q: %s, %v", c.kind, c.fields, changed, body, err)
		}
	}
}

// TestSignaturesOfCalls: newer Gemini models refuse calls without a signature. One that was sent to the caller comes back, and
// a call without one gets the signature that Google has for this.
func TestSignaturesOfCalls(t *testing.T) {
	kind, _ := protocol.KindOf("gemini")
	const answer = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}`
	a, err := kind.Format.Read([]byte(answer))
	if err != nil || len(a.Parts) != 3 || a.Finish != middle.Calls {
		t.Fatalf("%+v, %v", a, err)
	}
	m := &middle.Request{Messages: []middle.Message{{Role: "user", Parts: []middle.Part{{Kind: middle.Text, Text: "a"}}}, {Role: "assistant", Parts: a.Parts}}}
	for model, want := range map[string]int{"gemini-3-pro": 2, "gemini-2.5-pro": 1} {
		body, _, err := kind.Format.Write(m, protocol.Target{Model: model})
		if n := strings.Count(string(body), "thoughtSignature"); err != nil || n != want || !strings.Contains(string(body), `"thoughtSignature":"c2ln"`) {
			t.Errorf("%s: %d signatures, %v: %s", model, n, err, body)
		}
	}
}

// TestBrokenStreams: a stream that ends within an event, an error within a stream, and an answer that is none.
func TestBrokenStreams(t *testing.T) {
	for _, c := range []struct{ kind, stream, want string }{
		{"ollama", `{"model":"m","message":{"content":"a"}}` + "\n" + `{"model":"m","mess`, "unexpected EOF"},
		{"ollama", `{"error":"out of memory"}` + "\n", "out of memory"},
		{"ollama", strings.Repeat("x", 2000), "longer than the limit"},
		{"gemini", "data: {\"error\":{\"code\":503,\"message\":\"busy now\",\"status\":\"UNAVAILABLE\"}}\n\n", "busy now"},
		{"gemini", `data: {"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}` + "\n\n", "MALFORMED_FUNCTION_CALL"},
		{"gemini", `data: {"candidates":[{"content":{"parts":[{"executableCode":{"code":"1"}}]}}]}` + "\n\n", "executableCode"},
		{"gemini", "data: {\"candidates\":[],\"candidates\":[]}\n\n", "repeats a key"},
		{"bedrock", gatewaytest.BedrockMessage("exception", "throttlingException", `{"message":"too many"}`), "too many"},
		{"bedrock", gatewaytest.BedrockMessage("event", "messageStart", `{"role":"assistant"}`)[:20], "unexpected EOF"},
		{"bedrock", "\x7f\xff\xff\xff and so on", "longer than the limit"},
		{"bedrock", gatewaytest.BedrockMessage("event", "contentBlockStart", `{"start":{"image":{}}}`), "contentBlockStart"},
		{"bedrock", gatewaytest.BedrockMessage("event", "somethingNew", `{}`), "somethingNew"},
	} {
		if err := drain(c.kind, c.stream); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.60q: %v, want %s", c.kind, c.stream, err, c.want)
		}
	}
}

// TestAddresses: the addresses of kinds, from what people write as base_url.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		kind, base, model string
		stream            bool
		want              string
	}{
		{"azure", "https://n.openai.azure.com/", "d 1", false, "https://n.openai.azure.com/openai/deployments/d%201/chat/completions"},
		{"azure", "https://n.openai.azure.com/openai", "d", true, "https://n.openai.azure.com/openai/deployments/d/chat/completions"},
		{"azure", "https://n.openai.azure.com/openai/v1", "d", false, "https://n.openai.azure.com/openai/v1/chat/completions"},
		{"gemini", "https://g/v1beta/", "models/gemini-2.5-flash", false, "https://g/v1beta/models/gemini-2.5-flash:generateContent"},
		{"gemini", "https://g/v1beta", "gemini-2.5-flash", true, "https://g/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		{"ollama", "http://o:11434/v1/", "m", false, "http://o:11434/api/chat"},
		{"ollama", "http://o:11434/api/chat", "m", true, "http://o:11434/api/chat"},
		{"bedrock", "https://b", "anthropic.claude-v1:0", false, "https://b/model/anthropic.claude-v1%3A0/converse"},
		{"bedrock", "https://b/", "arn:aws:x/y", true, "https://b/model/arn%3Aaws%3Ax%2Fy/converse-stream"},
	} {
		k, err := protocol.KindOf(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.URL(c.base, c.model, protocol.Chat, c.stream); got != c.want {
			t.Errorf("%s: %s, want %s", c.kind, got, c.want)
		}
	}
	azure, _ := protocol.KindOf("azure")
	if azure.Check("https://n", nil) == nil || azure.Check("https://n/openai/v1/", nil) != nil || azure.Check("https://n", map[string]string{"api-version": "1"}) != nil {
		t.Error("the check of the version")
	}
}

// TestSignatures: a request for Bedrock without a key is signed for the region of its address.
func TestSignatures(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	k, err := protocol.KindOf("bedrock")
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, k.URL("https://bedrock-runtime.eu-west-1.amazonaws.com", "m:0", protocol.Chat, false))
	if err := k.Sign(r, []byte("{}"), ""); err != nil {
		t.Fatal(err)
	}
	if auth := r.Header.Get("Authorization"); !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKID/") || !strings.Contains(auth, "/eu-west-1/bedrock/aws4_request") || r.Header.Get("X-Amz-Date") == "" {
		t.Errorf("%q", auth)
	}
	if r := request(t, "https://x"); k.Sign(r, nil, "key") != nil || r.Header.Get("Authorization") != "" {
		t.Error("a request with a key was signed")
	}
	if err := k.Sign(request(t, "https://other"), nil, ""); err == nil || !strings.Contains(err.Error(), "region") {
		t.Errorf("without a region: %v", err)
	}
}

// drain translates a stream to its end.
func drain(name, stream string) error {
	kind, err := protocol.KindOf(name)
	if err != nil {
		return err
	}
	in, err := protocol.Chat.ReadRequest([]byte(`{"model":"p","stream":true,"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		return err
	}
	frames, translated := kind.Read(strings.NewReader(stream), 1000), kind.TranslateStream(in)
	watched := protocol.Watch(kind.Format)
	for range len(stream) + 2 {
		e, err := frames.Next()
		if errors.Is(err, io.EOF) {
			_, err = translated.End()
			return err
		}
		if err != nil {
			return err
		}
		_, _ = watched.Read(e)
		_, _ = watched.Last(e), watched.Alive(e)
		if _, err := translated.Event(e); err != nil {
			return err
		}
	}
	return fmt.Errorf("more events than bytes")
}

// FuzzKinds reads whatever comes as a stream and as an answer of each kind.
func FuzzKinds(f *testing.F) {
	names := []string{"openai", "azure", "gemini", "ollama", "bedrock"}
	seen := &gatewaytest.Seen{Tools: []gatewaytest.Tool{{Name: "f"}}}
	for i, name := range names {
		d := gatewaytest.Dialects[name]
		for _, what := range []string{"think and take a tool", "a long text"} {
			seen.Items = []gatewaytest.Item{{Kind: "user", Text: what}}
			a := gatewaytest.Answer(seen)
			f.Add(byte(i), string(d.Write(seen, a)))
			f.Add(byte(i), strings.Join(d.Event(seen, a), ""))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		name := names[int(which)%len(names)]
		kind, err := protocol.KindOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := drain(name, text); errors.Is(err, sse.ErrTooLong) && len(text) < 1000 && name != "bedrock" {
			t.Errorf("%d bytes are too long", len(text))
		}
		if a, err := kind.Format.Read([]byte(text)); err == nil && a.Finish == "" && name != "openai" && name != "azure" {
			t.Errorf("an answer without an end: %q", text)
		}
		_, _ = protocol.ReadFacts(kind.Format, []byte(text))
	})
}
