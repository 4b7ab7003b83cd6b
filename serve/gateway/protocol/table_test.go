package protocol

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

var update = flag.Bool("update", false, "write the tables of the page and the files of testdata")

// example is a part of a request that another protocol may or may not have. mark is a text that a translation must have if it
// says nothing.
type example struct{ name, fields, mark string }

const (
	chatUser     = `"messages":[{"role":"user","content":"x"}]`
	messagesUser = `"max_tokens":5000,"messages":[{"role":"user","content":"x"}]`
	chatTools    = `"tools":[{"type":"function","function":{"name":"mark_f"}}]`
	messagesTool = `"tools":[{"name":"mark_f","input_schema":{"type":"object"}}]`
)

func chatPartOf(part string) string {
	return `"messages":[{"role":"user","content":[` + part + `]}]`
}

func messagesPartOf(part string) string {
	return `"max_tokens":5000,"messages":[{"role":"user","content":[` + part + `]}]`
}

func inputPartOf(part string) string { return `"input":[{"role":"user","content":[` + part + `]}]` }

// examples are the fields of requests, by the protocol of the caller. Every field that the protocols document is here.
var examples = map[string][]example{
	"chat": {
		{"system message", `"messages":[{"role":"system","content":"mark7"},{"role":"user","content":"x"}]`, "mark7"},
		{"developer message", `"messages":[{"role":"developer","content":"mark7"},{"role":"user","content":"x"}]`, "mark7"},
		{"system message after others", `"messages":[{"role":"user","content":"x"},{"role":"system","content":"mark7"}]`, "mark7"},
		{"name of a participant", `"messages":[{"role":"user","name":"mark7","content":"x"}]`, "mark7"},
		{"text", chatPartOf(`{"type":"text","text":"mark7"},{"type":"text","text":"y"}`), "mark7"},
		{"image_url, data", chatPartOf(`{"type":"image_url","image_url":{"url":"data:image/png;base64,MARK7AAA"}}`), "MARK7AAA"},
		{"image_url, link", chatPartOf(`{"type":"image_url","image_url":{"url":"https://x/mark7"}}`), "mark7"},
		{"image_url.detail", chatPartOf(`{"type":"image_url","image_url":{"url":"https://x/a","detail":"high"}}`), `"high"`},
		{"input_audio", chatPartOf(`{"type":"input_audio","input_audio":{"data":"MARK7AAA","format":"wav"}}`), "MARK7AAA"},
		{"file, PDF", chatPartOf(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,MARK7AAA"}}`), "MARK7AAA"},
		{"file, by id", chatPartOf(`{"type":"file","file":{"file_id":"mark7"}}`), "mark7"},
		{"tool_calls, tool message", `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"mark7"}]`, "mark7"},
		{"refusal", `"messages":[{"role":"assistant","refusal":"mark7","content":null},{"role":"user","content":"x"}]`, "mark7"},
		{"reasoning_content", `"messages":[{"role":"assistant","reasoning_content":"mark7","content":"y"},{"role":"user","content":"x"}]`, "mark7"},
		{"thinking_blocks with a signature", `"messages":[{"role":"assistant","thinking_blocks":[{"type":"thinking","thinking":"mark7","signature":"AA"}],"content":"y"},{"role":"user","content":"x"}]`, "mark7"},
		{"audio of an answer", `"messages":[{"role":"assistant","audio":{"id":"mark7"}},{"role":"user","content":"x"}]`, "mark7"},
		{"function_call", `"messages":[{"role":"assistant","content":"","function_call":{"name":"mark7","arguments":"{}"}},{"role":"user","content":"x"}]`, "mark7"},
		{"max_tokens", chatUser + `,"max_tokens":4321`, "4321"},
		{"max_completion_tokens", chatUser + `,"max_completion_tokens":4321`, "4321"},
		{"temperature", chatUser + `,"temperature":0.625`, "0.625"},
		{"temperature above 1", chatUser + `,"temperature":1.625`, "1.625"},
		{"top_p", chatUser + `,"top_p":0.625`, "0.625"},
		{"top_k", chatUser + `,"top_k":4321`, "4321"},
		{"stop", chatUser + `,"stop":["mark7"]`, "mark7"},
		{"seed", chatUser + `,"seed":4321`, "4321"},
		{"presence_penalty", chatUser + `,"presence_penalty":0.625`, "0.625"},
		{"frequency_penalty", chatUser + `,"frequency_penalty":0.625`, "0.625"},
		{"logit_bias", chatUser + `,"logit_bias":{"4321":1}`, "4321"},
		{"logprobs, top_logprobs", chatUser + `,"logprobs":true,"top_logprobs":3`, "logprobs"},
		{"n above 1", chatUser + `,"n":2`, `"n":2`},
		{"tools", chatUser + "," + chatTools, "mark_f"},
		{"tools.strict", chatUser + `,"tools":[{"type":"function","function":{"name":"f","strict":true}}]`, `"strict":true`},
		{"tools of other types", chatUser + `,"tools":[{"type":"custom","custom":{"name":"mark7"}}]`, "mark7"},
		{"tool_choice", chatUser + "," + chatTools + `,"tool_choice":{"type":"function","function":{"name":"mark_f"}}`, `"tool_choice"`},
		{"parallel_tool_calls", chatUser + "," + chatTools + `,"parallel_tool_calls":false`, "parallel"},
		{"response_format, json_schema", chatUser + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"title":"mark7"}}}`, "mark7"},
		{"response_format, json_object", chatUser + `,"response_format":{"type":"json_object"}`, "json_object"},
		{"reasoning_effort", chatUser + `,"reasoning_effort":"high"`, `"high"`},
		{"verbosity", chatUser + `,"verbosity":"mark7"`, "mark7"},
		{"user", chatUser + `,"user":"mark7"`, "mark7"},
		{"metadata", chatUser + `,"metadata":{"a":"mark7"}`, "mark7"},
		{"store", chatUser + `,"store":true`, `"store":true`},
		{"service_tier", chatUser + `,"service_tier":"mark7"`, "mark7"},
		{"safety_identifier", chatUser + `,"safety_identifier":"mark7"`, "mark7"},
		{"prompt_cache_key", chatUser + `,"prompt_cache_key":"mark7"`, "mark7"},
		{"modalities, audio", chatUser + `,"modalities":["text","audio"],"audio":{"voice":"a","format":"wav"}`, "audio"},
		{"prediction", chatUser + `,"prediction":{"type":"content","content":"mark7"}`, "mark7"},
		{"web_search_options", chatUser + `,"web_search_options":{}`, "web_search_options"},
		{"any other field", chatUser + `,"mark7":1`, "mark7"},
	},
	"messages": {
		{"system", messagesUser + `,"system":"mark7"`, "mark7"},
		{"text", messagesPartOf(`{"type":"text","text":"mark7"}`), "mark7"},
		{"cache_control", messagesPartOf(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`), "ephemeral"},
		{"citations", messagesPartOf(`{"type":"text","text":"x","citations":[{"type":"mark7"}]}`), "mark7"},
		{"image, base64", messagesPartOf(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"MARK7AAA"}}`), "MARK7AAA"},
		{"image, url", messagesPartOf(`{"type":"image","source":{"type":"url","url":"https://x/mark7"}}`), "mark7"},
		{"image, file", messagesPartOf(`{"type":"image","source":{"type":"file","file_id":"mark7"}}`), "mark7"},
		{"document, PDF", messagesPartOf(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"MARK7AAA"}}`), "MARK7AAA"},
		{"document, url", messagesPartOf(`{"type":"document","source":{"type":"url","url":"https://x/mark7"}}`), "mark7"},
		{"document, text", messagesPartOf(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"mark7"}}`), "bWFyazc"},
		{"document.context", messagesPartOf(`{"type":"document","context":"mark7","source":{"type":"url","url":"https://x/y"}}`), "mark7"},
		{"search_result", messagesPartOf(`{"type":"search_result","source":"mark7"}`), "mark7"},
		{"tool_use, tool_result", `"max_tokens":5000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"mark7"}]}]`, "mark7"},
		{"tool_result.is_error", `"max_tokens":5000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"x"}]}]`, "is_error"},
		{"tool_result with an image", `"max_tokens":5000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"MARK7AAA"}}]}]}]`, "MARK7AAA"},
		{"thinking", `"max_tokens":5000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"mark7","signature":"AA"},{"type":"text","text":"y"}]},{"role":"user","content":"z"}]`, "mark7"},
		{"server_tool_use and other blocks", `"max_tokens":5000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"server_tool_use","id":"mark7"}]}]`, "mark7"},
		{"max_tokens", messagesUser, "5000"},
		{"temperature", messagesUser + `,"temperature":0.625`, "0.625"},
		{"top_p", messagesUser + `,"top_p":0.625`, "0.625"},
		{"top_k", messagesUser + `,"top_k":4321`, "4321"},
		{"stop_sequences", messagesUser + `,"stop_sequences":["mark7"]`, "mark7"},
		{"metadata.user_id", messagesUser + `,"metadata":{"user_id":"mark7"}`, "mark7"},
		{"tools", messagesUser + "," + messagesTool, "mark_f"},
		{"tools of the service", messagesUser + `,"tools":[{"type":"web_search_20250305","name":"mark7"}]`, "mark7"},
		{"tool_choice", messagesUser + "," + messagesTool + `,"tool_choice":{"type":"tool","name":"mark_f"}`, `"tool_choice"`},
		{"tool_choice.disable_parallel_tool_use", messagesUser + "," + messagesTool + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, "parallel"},
		{"thinking, enabled", messagesUser + `,"thinking":{"type":"enabled","budget_tokens":2000}`, "2000"},
		{"thinking, disabled", messagesUser + `,"thinking":{"type":"disabled"}`, "disabled"},
		{"thinking, adaptive", messagesUser + `,"thinking":{"type":"adaptive"}`, "adaptive"},
		{"output_config.effort", messagesUser + `,"output_config":{"effort":"high"}`, `"high"`},
		{"output_config.format", messagesUser + `,"output_config":{"format":{"type":"json_schema","schema":{"title":"mark7"}}}`, "mark7"},
		{"service_tier", messagesUser + `,"service_tier":"standard_only"`, "standard_only"},
		{"context_management", messagesUser + `,"context_management":{"edits":[]}`, "context_management"},
		{"container", messagesUser + `,"container":"mark7"`, "mark7"},
		{"mcp_servers", messagesUser + `,"mcp_servers":[{"name":"mark7"}]`, "mark7"},
		{"any other field", messagesUser + `,"mark7":1`, "mark7"},
	},
	"responses": {
		{"instructions", `"input":"x","instructions":"mark7"`, "mark7"},
		{"input, a text", `"input":"mark7"`, "mark7"},
		{"input_text", inputPartOf(`{"type":"input_text","text":"mark7"}`), "mark7"},
		{"input_image, data", inputPartOf(`{"type":"input_image","image_url":"data:image/png;base64,MARK7AAA"}`), "MARK7AAA"},
		{"input_image, link", inputPartOf(`{"type":"input_image","image_url":"https://x/mark7"}`), "mark7"},
		{"input_image, by id", inputPartOf(`{"type":"input_image","file_id":"mark7"}`), "mark7"},
		{"input_file, PDF", inputPartOf(`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,MARK7AAA"}`), "MARK7AAA"},
		{"input_file, link", inputPartOf(`{"type":"input_file","file_url":"https://x/mark7"}`), "mark7"},
		{"input_file, by id", inputPartOf(`{"type":"input_file","file_id":"mark7"}`), "mark7"},
		{"output_text", `"input":[{"role":"assistant","type":"message","id":"m","status":"completed","content":[{"type":"output_text","text":"mark7","annotations":[]}]},{"role":"user","content":"x"}]`, "mark7"},
		{"annotations", `"input":[{"role":"assistant","content":[{"type":"output_text","text":"y","annotations":[{"type":"mark7"}]}]},{"role":"user","content":"x"}]`, "mark7"},
		{"function_call, function_call_output", `"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"mark7"}]`, "mark7"},
		{"function_call_output with an image", `"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://x/mark7"}]}]`, "mark7"},
		{"reasoning", `"input":[{"role":"user","content":"x"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"mark7"}],"encrypted_content":"AA"},{"role":"assistant","content":"y"},{"role":"user","content":"x"}]`, "mark7"},
		{"item_reference and other items", `"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"mark7"}]`, "mark7"},
		{"max_output_tokens", `"input":"x","max_output_tokens":4321`, "4321"},
		{"temperature", `"input":"x","temperature":0.625`, "0.625"},
		{"top_p", `"input":"x","top_p":0.625`, "0.625"},
		{"tools", `"input":"x","tools":[{"type":"function","name":"mark_f","parameters":{}}]`, "mark_f"},
		{"tools of other types", `"input":"x","tools":[{"type":"web_search"}]`, "web_search"},
		{"tool_choice", `"input":"x","tools":[{"type":"function","name":"mark_f","parameters":{}}],"tool_choice":{"type":"function","name":"mark_f"}`, `"tool_choice"`},
		{"parallel_tool_calls", `"input":"x","tools":[{"type":"function","name":"mark_f","parameters":{}}],"parallel_tool_calls":false`, "parallel"},
		{"text.format, json_schema", `"input":"x","text":{"format":{"type":"json_schema","name":"a","schema":{"title":"mark7"}}}`, "mark7"},
		{"text.format, json_object", `"input":"x","text":{"format":{"type":"json_object"}}`, "json_object"},
		{"text.verbosity", `"input":"x","text":{"verbosity":"mark7"}`, "mark7"},
		{"reasoning.effort", `"input":"x","reasoning":{"effort":"high"}`, `"high"`},
		{"reasoning.summary", `"input":"x","reasoning":{"summary":"auto"}`, `"auto"`},
		{"include, logprobs", `"input":"x","include":["message.output_text.logprobs"]`, "logprobs"},
		{"truncation", `"input":"x","truncation":"auto"`, `"truncation"`},
		{"user", `"input":"x","user":"mark7"`, "mark7"},
		{"metadata", `"input":"x","metadata":{"a":"mark7"}`, "mark7"},
		{"service_tier", `"input":"x","service_tier":"mark7"`, "mark7"},
		{"safety_identifier", `"input":"x","safety_identifier":"mark7"`, "mark7"},
		{"prompt_cache_key", `"input":"x","prompt_cache_key":"mark7"`, "mark7"},
		{"background", `"input":"x","background":true`, "background"},
		{"max_tool_calls", `"input":"x","max_tool_calls":4321`, "4321"},
		{"prompt", `"input":"x","prompt":{"id":"mark7"}`, "mark7"},
		{"conversation", `"input":"x","conversation":"mark7"`, "mark7"},
		{"any other field", `"input":"x","mark7":1`, "mark7"},
	},
}

// cell says what a translation does with an example.
func cell(t *testing.T, caller Caller, k *Kind, e example) string {
	t.Helper()
	in, err := caller.ReadRequest([]byte(`{"model":"p",` + e.fields + `}`))
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	if bad := in.Middle().Malformed; len(bad) > 0 {
		t.Fatalf("%s: %v", e.name, bad[0])
	}
	body, changed, err := k.Translate(in, nil, Target{Model: "m"})
	var field *middle.FieldError
	switch {
	case errors.As(err, &field) && field.Param != "":
		return "refused"
	case err != nil:
		t.Fatalf("%s to %s, %s: %v names no field", caller.Name(), k.Name, e.name, err)
	}
	if _, err := jsonedit.Parse(body); err != nil {
		t.Fatalf("%s to %s, %s: %s: %v", caller.Name(), k.Name, e.name, body, err)
	}
	changed = slices.DeleteFunc(changed, func(c string) bool { return strings.HasPrefix(c, "max_tokens, which") })
	if len(changed) > 0 {
		return "changed: " + strings.Join(changed, "; ")
	}
	if !strings.Contains(string(body), e.mark) {
		t.Errorf("%s to %s, %s: dropped in silence: %s", caller.Name(), k.Name, e.name, body)
	}
	return "carried"
}

// TestTable: each field of a request is carried, or changed with a note, or refused by its name; and the page says which.
func TestTable(t *testing.T) {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		caller := map[string]Caller{"chat": Chat, "messages": Messages, "responses": Responses}[name]
		var columns []*Kind
		header, line := "| of a request in "+name, "|---"
		for _, k := range kinds {
			if k.Format != caller {
				columns = append(columns, k)
				header, line = header+" | to "+k.Name, line+"|---"
			}
		}
		fmt.Fprintf(&out, "%s |\n%s|\n", header, line)
		for _, e := range examples[name] {
			fmt.Fprintf(&out, "| %s", e.name)
			for _, k := range columns {
				fmt.Fprintf(&out, " | %s", cell(t, caller, k, e))
			}
			out.WriteString(" |\n")
		}
		out.WriteString("\n")
	}
	compareSection(t, "../../../docs/protocols.md", "table", out.String())
}

// compareSection compares the part of a page between two comments with a text, or writes it.
func compareSection(t *testing.T, file, name, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section %s", file, name)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s is not what the code does: go test ./serve/gateway/protocol -run TestTable -update\n%s", file, want)
	}
}
