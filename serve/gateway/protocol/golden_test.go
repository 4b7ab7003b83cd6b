package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/serve/gateway/sse"
)

// goldenRequests are requests with everything that the three protocols have in common.
var goldenRequests = map[string]string{
	"chat": `{"model":"pipe","stream":true,"stream_options":{"include_usage":true},"temperature":0.50,"top_p":0.9,"max_completion_tokens":20000,"reasoning_effort":"low","user":"u-1","parallel_tool_calls":false,
		"tools":[{"type":"function","function":{"name":"look_up","description":"Looks a page up.","parameters":{"type":"object","properties":{"page":{"type":"string"}}},"strict":true}}],"tool_choice":"auto",
		"response_format":{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":{"type":"object"}}},
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"What is <this>?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]},
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"call:1","type":"function","function":{"name":"look_up","arguments":"{\"page\":\"Oil\"}"}},{"id":"call_2","type":"function","function":{"name":"look_up","arguments":""}}]},
		{"role":"tool","tool_call_id":"call:1","content":"Oil is good."},{"role":"tool","tool_call_id":"call_2","content":"Nothing."},{"role":"user","content":"So?"}]}`,
	"messages": `{"model":"pipe","stream":true,"max_tokens":20000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":4096},"metadata":{"user_id":"u-1"},
		"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"look_up","description":"Looks a page up.","input_schema":{"type":"object","properties":{"page":{"type":"string"}}}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},
		"messages":[{"role":"user","content":[{"type":"text","text":"What is <this>?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"look_up","input":{"page":"Oil","n":1.50}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"No page."}]},{"type":"text","text":"Try again."}]}]}`,
	"responses": `{"model":"pipe","stream":true,"store":false,"instructions":"Be brief.","max_output_tokens":20000,"temperature":0.50,"reasoning":{"effort":"high"},"include":["reasoning.encrypted_content"],"metadata":{},
		"tools":[{"type":"function","name":"look_up","description":"Looks a page up.","parameters":{"type":"object"},"strict":false}],"tool_choice":{"type":"function","name":"look_up"},"text":{"format":{"type":"json_schema","name":"verdict","schema":{"type":"object"}}},
		"input":[{"role":"user","content":[{"type":"input_text","text":"What is <this>?"},{"type":"input_image","image_url":"https://x/a.png","detail":"low"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"messages:c2ln"},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look_up","arguments":"{\"page\":\"Oil\"}"},{"type":"function_call_output","call_id":"call_1","output":"Oil is good."},{"role":"user","content":"So?"}]}`,
}

// goldenKinds are the kinds of the three protocols of callers.
var goldenKinds = []*Kind{OpenAI, OpenAIResponses, Anthropic}

// golden compares a text with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test ./serve/gateway/protocol -run Golden -update writes it anew:\n%s", file, got)
	}
}

// fixed makes ids and times the same in every run.
func fixed(t *testing.T) {
	t.Helper()
	before, clock, n := readRandom, now, byte(0)
	readRandom = func(b []byte) (int, error) {
		n++
		return copy(b, bytes.Repeat([]byte{n}, len(b))), nil
	}
	now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	t.Cleanup(func() { readRandom, now = before, clock })
}

// TestGoldenRequests: requests as they are written in other protocols.
func TestGoldenRequests(t *testing.T) {
	for _, caller := range translated {
		for _, k := range goldenKinds {
			if k.Passes(caller) {
				continue
			}
			in, err := caller.ReadRequest([]byte(goldenRequests[caller.Name()]))
			if err != nil {
				t.Fatal(err)
			}
			body, changed, err := k.Translate(in, nil, Target{Model: "m", Usage: true})
			if err != nil {
				t.Fatalf("%s to %s: %v", caller.Name(), k.Name, err)
			}
			var out bytes.Buffer
			if err := json.Indent(&out, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "\nchanged: %s\n", strings.Join(changed, "\n  "))
			golden(t, "request_"+caller.Name()+"_to_"+k.Name+".txt", out.String())
		}
	}
}

// goldenStreams are streams with reasoning, a text and two calls.
var goldenStreams = map[string]string{
	"openai": `data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}

: alive

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"I "}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"look."}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"a","arguments":""}}]}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"b","arguments":"{}"}}]}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`,
	"anthropic": `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":6,"cache_read_input_tokens":4,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"aGlk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Done END"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`,
	"responses": `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r1","model":"m","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","summary_index":0,"delta":"Hm."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"c2ln"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","content_index":0,"part":{"type":"refusal","refusal":""}}

event: response.refusal.delta
data: {"type":"response.refusal.delta","content_index":0,"delta":"No."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}}

event: response.incomplete
data: {"type":"response.incomplete","response":{"id":"r1","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4}}}}

`,
}

// TestGoldenStreams: streams as they are written in other protocols.
func TestGoldenStreams(t *testing.T) {
	for _, k := range goldenKinds {
		for _, caller := range translated {
			if k.Passes(caller) {
				continue
			}
			fixed(t)
			in, err := caller.ReadRequest([]byte(goldenRequests[caller.Name()]))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			s := k.TranslateStream(in)
			for _, e := range eventsIn(t, goldenStreams[k.Name]) {
				raw, err := s.Event(e)
				if err != nil {
					t.Fatalf("%s to %s: %s: %v", k.Name, caller.Name(), e.Data, err)
				}
				out.Write(raw)
			}
			golden(t, "stream_"+k.Name+"_to_"+caller.Name()+".txt", out.String())
		}
	}
}

// eventsIn are the events of a stream.
func eventsIn(t testing.TB, text string) (all []*sse.Event) {
	t.Helper()
	in := sse.NewReader(strings.NewReader(text), 1<<20)
	for {
		e, err := in.Next()
		if err != nil {
			return all
		}
		c := *e
		c.Data, c.Raw = bytes.Clone(e.Data), bytes.Clone(e.Raw)
		all = append(all, &c)
	}
}

// BenchmarkTranslate measures the translation of a request with tools and a picture, and of each event of a stream.
//
//	go test ./serve/gateway/protocol -run '^$' -bench Translate
func BenchmarkTranslate(b *testing.B) {
	for _, k := range goldenKinds {
		for _, caller := range translated {
			if k.Passes(caller) {
				continue
			}
			text := []byte(goldenRequests[caller.Name()])
			b.Run("request "+caller.Name()+" to "+k.Name, func(b *testing.B) {
				for b.Loop() {
					in, err := caller.ReadRequest(text)
					if err != nil {
						b.Fatal(err)
					}
					if _, _, err := k.Translate(in, nil, Target{Model: "m"}); err != nil {
						b.Fatal(err)
					}
				}
			})
			in, err := caller.ReadRequest(text)
			if err != nil {
				b.Fatal(err)
			}
			events := eventsIn(b, goldenStreams[k.Name])
			b.Run("event "+k.Name+" to "+caller.Name(), func(b *testing.B) {
				for b.Loop() {
					s := k.TranslateStream(in)
					for _, e := range events {
						if _, err := s.Event(e); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
			})
		}
	}
}
