package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/panels"
)

// errorIn is the error in the body of a protocol, as its type, its parameter and its message.
func errorIn(t *testing.T, protocol, body string) (kind, param, message string) {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Param, Message string }
	}
	parse(t, body, &e)
	if (protocol == "messages") != (e.Type == "error") {
		t.Errorf("%s: %s", protocol, body)
	}
	return e.Error.Type, e.Error.Param, e.Error.Message
}

// TestRefusalsInEveryPair: what a service refuses reaches the caller in the caller's shape, and other statuses lead to another
// expert or to an error of the gateway in that shape.
func TestRefusalsInEveryPair(t *testing.T) {
	bodies := map[string]string{
		"chat":      `{"error":{"message":"too hot key-of-the-service-123","type":"invalid_request_error","param":"temperature","code":null}}`,
		"messages":  `{"type":"error","error":{"type":"invalid_request_error","message":"too hot key-of-the-service-123"},"request_id":"r"}`,
		"responses": `{"error":{"message":"too hot key-of-the-service-123","type":"invalid_request_error","param":"temperature","code":null}}`,
	}
	for _, service := range protocolNames {
		w, s := newScriptedWorld(t, protocolKinds[service])
		for _, caller := range protocolNames {
			for _, stream := range []bool{false, true} {
				s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool {
					rw.WriteHeader(400)
					io.WriteString(rw, bodies[service])
					return true
				})
				a := w.askIn(t, caller, plainRequest(caller, "pipe", stream))
				kind, _, message := errorIn(t, caller, a.body)
				if a.status != 400 || kind != "invalid_request_error" || strings.TrimPrefix(message, "temperature: ") != "too hot [key]" {
					t.Errorf("%s to %s: %d %s", caller, service, a.status, a.body)
				}
				s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(500); return true })
				a = w.askIn(t, caller, plainRequest(caller, "small", stream))
				kind, _, message = errorIn(t, caller, a.body)
				want := map[string]string{"chat": "server_error", "messages": "api_error", "responses": "server_error"}[caller]
				if a.status != 502 || kind != want || message != "no expert answered: small: HTTP 500 Internal Server Error" {
					t.Errorf("%s to %s: %d %s", caller, service, a.status, a.body)
				}
			}
		}
	}
}

// TestBrokenStreamsInEveryPair: a stream that breaks, or has an event that is none, or states an error, ends with an error of
// the caller's protocol. Before the first content, another expert is asked.
func TestBrokenStreamsInEveryPair(t *testing.T) {
	errors := map[string]string{
		"chat":      "data: {\"error\":{\"message\":\"overloaded\"}}\n\n",
		"messages":  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"overloaded\"}}\n\n",
		"responses": "event: error\ndata: {\"type\":\"error\",\"message\":\"overloaded\",\"code\":null,\"param\":null,\"sequence_number\":9}\n\n",
	}
	script := gatewaytest.Script{Model: "model-l", Text: "It is a test."}
	for _, service := range protocolNames {
		w, s := newScriptedWorld(t, protocolKinds[service])
		for _, caller := range protocolNames {
			for name, rest := range map[string]string{"cut": "", "no JSON": "data: {\"type\":\n\n", "error": errors[service], "repeated": "data: {\"type\":\"a\",\"type\":\"b\"}\n\n"} {
				events := script.Stream(service, true)
				half := strings.Join(events[:len(events)/2+1], "") + rest
				s.Set(script, func(rw http.ResponseWriter, _ *http.Request) bool {
					rw.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(rw, half)
					return true
				})
				a := w.askIn(t, caller, plainRequest(caller, "small", true))
				if name == "no JSON" && caller == service && service == "chat" {
					continue // such events are passed on as they came, and the stream ends early after them
				}
				if name == "error" && caller == service {
					if !strings.HasSuffix(a.body, rest) {
						t.Errorf("%s, %s: %s", caller, name, a.body)
					}
					continue
				}
				checkBroken(t, caller+" to "+service+", "+name, caller, a.body)
			}
			s.Set(script, func(rw http.ResponseWriter, _ *http.Request) bool {
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, errors[service])
				return true
			})
			a := w.askIn(t, caller, plainRequest(caller, "small", true))
			if _, _, message := errorIn(t, caller, a.body); a.status != 502 || !strings.Contains(message, "an error came instead of an answer") {
				t.Errorf("%s to %s, an error first: %d %s", caller, service, a.status, a.body)
			}
		}
	}
}

// checkBroken checks that a stream ends with an error of the caller's protocol.
func checkBroken(t *testing.T, what, caller, body string) {
	t.Helper()
	all := eventsOf(t, body)
	last := all[len(all)-1]
	var e struct {
		Type, Message string
		Error         struct{ Message string }
	}
	parse(t, last.data, &e)
	name := map[string]string{"chat": "", "messages": "error", "responses": "error"}[caller]
	if last.name != name || e.Type != name || !strings.HasPrefix(e.Error.Message, "the answer is not complete: small: ") {
		t.Errorf("%s: %+v", what, last)
	}
	if strings.Contains(body, "[DONE]") || strings.Contains(body, "message_stop") || strings.Contains(body, "response.completed") {
		t.Errorf("%s: it looks complete: %s", what, body)
	}
}

// TestMixedFallback: an expert that cannot carry a request, or fails, is replaced by one of another protocol.
func TestMixedFallback(t *testing.T) {
	service := gatewaytest.NewScripted(t, gatewaytest.Script{Model: "m", Text: "Yes."})
	w := newWorld(t, func(s *Settings) {
		delete(s.Advice, "search")
		large, small := s.Experts["large"], s.Experts["small"]
		large.Kind, large.BaseURL = "anthropic", service.URL
		small.BaseURL = service.URL + "/v1"
		s.Experts["large"], s.Experts["small"] = large, small
	})
	a := w.askIn(t, "chat", `{"model":"pipe","seed":7,"messages":[{"role":"user","content":"x"}]}`)
	if a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get("X-Pipe-Fallbacks") != "1" || len(service.Requests()) != 1 {
		t.Errorf("seed: %d %v %s", a.status, a.header, a.body)
	}
	a = w.askIn(t, "chat", `{"model":"large","seed":7,"messages":[{"role":"user","content":"x"}]}`)
	if _, param, message := errorIn(t, "chat", a.body); a.status != 400 || param != "seed" || !strings.Contains(message, "seed cannot be passed on") {
		t.Errorf("seed: %d %s", a.status, a.body)
	}
	service.Set(gatewaytest.Script{Model: "m", Text: "Yes."}, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/messages" {
			return false
		}
		rw.WriteHeader(529)
		return true
	})
	for _, stream := range []bool{false, true} {
		a = w.askIn(t, "messages", plainRequest("messages", "pipe", stream))
		if got := read(t, "messages", a, stream); got.text != "Yes." || a.header.Get("X-Pipe-Expert") != "small" {
			t.Errorf("%+v %v", got, a.header)
		}
	}
}

// TestMalformedRequests: every protocol names the field that is wrong, and no expert is asked.
func TestMalformedRequests(t *testing.T) {
	w, s := newScriptedWorld(t, "anthropic")
	for _, c := range []struct{ protocol, body, want string }{
		{"messages", `"messages":[{"role":"clown","content":"x"}]`, "messages.0.role"},
		{"messages", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"not base64!"}}]}]`, "messages.0.content.0.source.data"},
		{"messages", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"text/html","data":"AAAA"}}]}]`, "messages.0.content.0.source.media_type"},
		{"messages", `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"7"}]}]`, "messages is the result of a call that no earlier message has"},
		{"messages", `"messages":[{"role":"user","content":7}]`, "messages.0.content"},
		{"messages", `"messages":[]`, "messages must be a list"},
		{"messages", `"max_tokens":-1,"messages":[{"role":"user","content":"x"}]`, "max_tokens"},
		{"responses", `"input":[{"role":"tool","content":"x"}]`, "input[0].role"},
		{"responses", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:text/html;base64,AAAA"}]}]`, "input[0].content[0].image_url"},
		{"responses", `"input":[{"type":"function_call_output","call_id":"c","output":"7"}]`, "input is the result of a call"},
		{"responses", `"input":"x","reasoning":{"effort":"huge"}`, "reasoning.effort"},
		{"responses", `"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{"}]`, "input[0].arguments"},
		{"chat", `"messages":[{"role":"clown","content":"x"},{"role":"user","content":"x"}]`, "messages[0].role"},
		{"chat", `"messages":[{"role":"user","content":"x"},{"role":"tool","content":"7","tool_call_id":"c"}]`, "messages[1].tool_call_id"},
		{"chat", `"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]`, "messages[0].content[1].image_url.url"},
	} {
		a := w.askIn(t, c.protocol, `{"model":"pipe",`+c.body+`}`)
		if _, _, message := errorIn(t, c.protocol, a.body); a.status != 400 || !strings.Contains(message, c.want) {
			t.Errorf("%s %s: %d %s", c.protocol, c.body, a.status, a.body)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// TestPreviousResponses: a conversation goes on from a response, whichever expert answers; others do not see it.
func TestPreviousResponses(t *testing.T) {
	for _, kind := range []string{"openai", "anthropic", "responses"} {
		for _, stream := range []bool{false, true} {
			w, s := newScriptedWorld(t, kind)
			first := w.askIn(t, "responses", fmt.Sprintf(`{"model":"pipe","stream":%v,"instructions":"Be brief.","input":"One?"}`, stream))
			id := responseID(t, first, stream)
			second := w.askIn(t, "responses", fmt.Sprintf(`{"model":"pipe","previous_response_id":%q,"input":"Two?"}`, id))
			got := s.Requests()
			if second.status != 200 || len(got) != 2 {
				t.Fatalf("%s: %d %s", kind, second.status, second.body)
			}
			sent := string(got[1].Body)
			if kind == "responses" {
				if want := strings.Replace(`{"model":"model-l","previous_response_id":"ID","input":"Two?"}`, "ID", id, 1); sent != want {
					t.Errorf("%s", sent)
				}
				continue
			}
			for _, part := range []string{"One?", "It is a test.", "Two?"} {
				before, after, ok := strings.Cut(sent, part)
				if sent = after; !ok {
					t.Errorf("%s: %q does not come after %s", kind, part, before)
				}
			}
			if strings.Contains(string(got[1].Body), "Be brief") || strings.Contains(string(got[1].Body), id) || !strings.Contains(second.body, `"previous_response_id":"`+id+`"`) {
				t.Errorf("%s: %s\n%s", kind, got[1].Body, second.body)
			}
			for _, body := range []string{
				`{"model":"pipe","previous_response_id":"resp_none","input":"x"}`,
				fmt.Sprintf(`{"model":"pipe","previous_response_id":%q,"input":"x"}`, responseID(t, w.askIn(t, "responses", `{"model":"pipe","store":false,"input":"One?"}`), false)),
			} {
				a := w.askIn(t, "responses", body)
				if _, param, _ := errorIn(t, "responses", a.body); a.status != 400 || param != "previous_response_id" || !strings.Contains(a.body, "previous_response_not_found") {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		}
	}
}

// responseID is the id of a response.
func responseID(t *testing.T, a answer, stream bool) string {
	t.Helper()
	var r struct {
		ID       string
		Response struct{ ID string }
	}
	if stream {
		all := eventsOf(t, a.body)
		parse(t, all[len(all)-1].data, &r)
		return r.Response.ID
	}
	parse(t, a.body, &r)
	if r.ID == "" {
		t.Fatalf("no id: %s", a.body)
	}
	return r.ID
}

// TestAdviceInEveryProtocol: the message with advice is the only change between the same protocols.
func TestAdviceInEveryProtocol(t *testing.T) {
	for _, caller := range protocolNames {
		service := gatewaytest.NewScripted(t, gatewaytest.Script{Model: "model-s", Text: "Yes."})
		w := newWorld(t, func(s *Settings) {
			small := s.Experts["small"]
			small.Kind, small.BaseURL = protocolKinds[caller], service.URL+"/v1"
			s.Experts["small"] = small
			a := s.Advice["search"]
			a.Template = "{{.boundary}}Passages{{range .passages}}{{.text}}{{end}}{{.boundary}}"
			s.Advice["search"] = a
		})
		body := strings.Replace(plainRequest(caller, "pipe", false), `"Is oil good?"`, ` "Is oil good?" `, 1)
		a := w.askIn(t, caller, body)
		got := service.Requests()
		if a.status != 200 || len(got) != 1 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		sent := string(got[0].Body)
		_, rest, ok := strings.Cut(sent, "Passages")
		if before, after, _ := strings.Cut(rest, "Is oil good?"); !ok || !strings.Contains(before, "Oil is good.") || after == "" {
			t.Errorf("%s: %s", caller, sent)
		}
	}
}

// TestPassedOn: embeddings, completions and counts of tokens go to the expert that the caller names, as they came.
func TestPassedOn(t *testing.T) {
	w, s := newScriptedWorld(t, "openai")
	answers := map[string]string{
		"/v1/embeddings":  `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25]}],"model":"model-l","usage":{"prompt_tokens":3,"total_tokens":3}}`,
		"/v1/completions": `{"id":"c","object":"text_completion","model":"model-l","choices":[{"text":"x","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`,
	}
	stream := "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, r *http.Request) bool {
		io.WriteString(rw, answers[r.URL.Path])
		return true
	})
	for path, want := range answers {
		a := w.postTo(t, path, `{ "model":"large", "x":[1.50],"input":"a" }`)
		if got := s.Requests(); a.body != want || len(got) != 1 || string(got[0].Body) != `{ "model":"model-l", "x":[1.50],"input":"a" }` || got[0].Header.Get("Path") != path {
			t.Errorf("%s: %d %s %+v", path, a.status, a.body, got)
		}
	}
	s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, stream)
		return true
	})
	if a := w.postTo(t, "/v1/completions", `{"model":"large","stream":true,"prompt":"a"}`); a.body != stream {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.postTo(t, "/v1/messages/count_tokens", `{"model":"pipe","messages":[{"role":"user","content":"Is oil good?"}]}`); a.body != "{\"input_tokens\":17}\n" || a.header.Get("X-Pipe-Estimated") == "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	w, s = newScriptedWorld(t, "anthropic")
	s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool {
		io.WriteString(rw, `{"input_tokens":7}`)
		return true
	})
	a := w.postTo(t, "/v1/messages/count_tokens", `{"model":"large","messages":[{"role":"user","content":"Is oil good?"}]}`, "Anthropic-Beta", "b")
	if got := s.Requests(); a.body != `{"input_tokens":7}` || got[0].Header.Get("Path") != "/v1/messages/count_tokens" || got[0].Header.Get("Anthropic-Beta") != "b" {
		t.Errorf("%d %s %+v", a.status, a.body, got)
	}
	a = w.postTo(t, "/v1/embeddings", `{"model":"large","input":"a"}`)
	if _, param, message := errorIn(t, "chat", a.body); a.status != 400 || param != "model" || message != "model names an expert that has no embeddings" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestCancelledInEveryPair: a caller who leaves ends the call of the service.
func TestCancelledInEveryPair(t *testing.T) {
	script := gatewaytest.Script{Model: "model-l", Text: "It is a test."}
	for _, service := range protocolNames {
		w, s := newScriptedWorld(t, protocolKinds[service])
		for _, caller := range protocolNames {
			gone := make(chan struct{})
			events := script.Stream(service, true)
			s.Set(script, func(rw http.ResponseWriter, r *http.Request) bool {
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, strings.Join(events[:len(events)/2+1], ""))
				rw.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					close(gone)
				case <-time.After(3 * time.Second):
				}
				return true
			})
			response, err := w.Client().Post(w.URL+protocolPaths[caller], "application/json", strings.NewReader(plainRequest(caller, "small", true)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			select {
			case <-gone:
			case <-time.After(2 * time.Second):
				t.Errorf("%s to %s: the call goes on", caller, service)
			}
		}
	}
}

// TestPanelInEveryProtocol: a panel asks the experts as the caller's request does, and keeps the conversation in one form.
func TestPanelInEveryProtocol(t *testing.T) {
	for _, caller := range protocolNames {
		service := gatewaytest.NewScripted(t, gatewaytest.Script{Model: "m", Text: "Yes."})
		p := panelOf(t, 1, panels.All)
		w := newWorld(t, func(s *Settings) {
			delete(s.Advice, "search")
			s.Panel = p
			for name, e := range s.Experts {
				e.BaseURL, e.Kind = service.URL+"/v1", map[string]string{"small": "anthropic", "large": "openai"}[name]
				s.Experts[name] = e
			}
		})
		if a := w.askIn(t, caller, plainRequest(caller, "pipe", true)); a.status != 200 {
			t.Fatal(a.body)
		}
		w.api.Drain(t.Context())
		paths := map[string]int{}
		for _, r := range service.Requests() {
			paths[r.Header.Get("Path")]++
		}
		if paths["/v1/messages"] != 1 || paths["/v1/chat/completions"] != 2 {
			t.Errorf("%s: %v", caller, paths)
		}
		for _, a := range answersOf(t, p) {
			if string(a.Messages) != `[{"content":"Is oil good?","role":"user"}]` && string(a.Messages) != `[{"role":"user","content":"Is oil good?"}]` {
				t.Errorf("%s: %s", caller, a.Messages)
			}
			if got := read(t, caller, answer{body: string(a.Answer)}, false); got.text != "Yes." {
				t.Errorf("%s: %s", caller, a.Answer)
			}
		}
	}
}
