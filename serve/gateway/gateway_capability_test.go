package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
	"pipe/serve/gateway/expert"
)

// limited is a world whose small expert has limits, in YAML.
func limited(t *testing.T, small, large string) *world {
	t.Helper()
	return newWorld(t, func(s *Settings) {
		for name, text := range map[string]string{"small": small, "large": large} {
			e := s.Experts[name]
			if err := yaml.Load([]byte(text), &e.Capabilities); err != nil {
				t.Fatal(err)
			}
			s.Experts[name] = e
		}
	})
}

// The needs of requests that small experts lack.
const (
	withTools  = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	withSchema = `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`
	ask        = `{"model":"pipe","messages":[{"role":"user","content":"Is oil good?"}]`
)

func withPart(part string) string {
	return `{"model":"pipe","messages":[{"role":"user","content":[{"type":"text","text":"Is oil good?"},` + part + `]}]`
}

var (
	withImage = withPart(`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`)
	withAudio = withPart(`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`)
	withFile  = withPart(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}`)
	long      = strings.Repeat("oil ", 1000) // about 1000 tokens
	withLong  = `{"model":"pipe","messages":[{"role":"system","content":"` + long + `"},{"role":"user","content":"Is oil good?"}]`
)

// An expert that cannot take a request is left out before the decision: its pairs have no propensity, and the log and the metrics
// say why. Without such an expert nothing is left out.
func TestCapabilities(t *testing.T) {
	for name, c := range map[string]struct {
		limits, request, reason string // reason "": the small expert answers
	}{
		"tools":                    {"{tools: false}", ask + withTools + `}`, "tools"},
		"a call of a tool":         {"{tools: false}", `{"model":"pipe","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"y"}]}`, "tools"},
		"no tools":                 {"{tools: false}", ask + `,"tools":[]}`, ""},
		"tools that it takes":      {"{tools: true, images: false}", ask + withTools + `}`, ""},
		"images":                   {"{images: false}", withImage + `}`, "images"},
		"an image for all":         {"{audio: false, files: false, json_schema: false}", withImage + `}`, ""},
		"audio":                    {"{audio: false}", withAudio + `}`, "audio"},
		"files":                    {"{files: false}", withFile + `}`, "files"},
		"schema":                   {"{json_schema: false}", ask + withSchema + `}`, "json_schema"},
		"any object":               {"{json_schema: false}", ask + `,"response_format":{"type":"json_object"}}`, ""},
		"too long":                 {"{context: 900}", withLong + `}`, "context"},
		"long enough":              {"{context: 1100}", withLong + `}`, ""},
		"too long with its answer": {"{context: 1100}", withLong + `,"max_tokens":500}`, "context"},
		"output":                   {"{output: 499}", ask + `,"max_completion_tokens":500}`, "output"},
		"output that it has":       {"{output: 500}", ask + `,"max_tokens":500}`, ""},
		"a picture has no tokens":  {"{context: 900}", withPart(`{"type":"image_url","image_url":{"url":"data:image/png;base64,`+strings.Repeat("A", 40000)+`"}}`) + `}`, ""},
		"nothing is known":         {"{}", withImage + withTools + withSchema + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := limited(t, c.limits, "{}")
			a := w.post(t, c.request)
			answered, masked := "small", ""
			if c.reason != "" {
				answered, masked = "large", "small: "+c.reason
			}
			if a.status != 200 || a.header.Get("X-Pipe-Expert") != answered || a.header.Get("X-Pipe-Fallbacks") != "" {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
			count := testutil.CollectAndCount(w.registry, "pipe_masked_total")
			if (count == 1) != (c.reason != "") {
				t.Errorf("%d reasons are counted", count)
			}
			rec := w.records(t)[0]
			if left := rec.Propensity[0] == 0 && rec.Propensity[1] == 0 && !rec.Available[0] && !rec.Available[1]; left != (c.reason != "") || rec.Masked != masked || len(w.small.Requests()) != boolTo(c.reason == "") {
				t.Errorf("%v %v, masked %q", rec.Propensity, rec.Available, rec.Masked)
			}
		})
	}
}

func boolTo(b bool) int {
	if b {
		return 1
	}
	return 0
}

// If no expert can take a request, the caller gets 400 with the field; an expert that could, but has failed, is a matter of time.
func TestNoCapableExpert(t *testing.T) {
	for want, c := range map[string]struct{ small, large, request string }{
		`400 invalid_request_error not_supported tools: no expert of policy "claims" can take this request: small takes no tools; large takes no tools`:                                           {"{tools: false}", "{tools: false}", ask + withTools + `}`},
		`400 invalid_request_error not_supported response_format: no expert of policy "claims" can take this request: small cannot answer by a JSON schema; large cannot answer by a JSON schema`: {"{json_schema: false}", "{json_schema: false}", ask + withSchema + `}`},
		`400 invalid_request_error not_supported messages: no expert of policy "claims" can take this request: small has a context of 900 tokens, and the request about 1003; large takes no pictures`: {
			"{context: 900}", "{images: false}",
			strings.Replace(withImage, "Is oil good?", long+"Is oil good?", 1) + `}`,
		},
		`400 invalid_request_error not_supported max_tokens: no expert of policy "claims" can take this request: small answers with at most 10 tokens, and 11 are asked for; large has a context of 12 tokens, and the request about 3 and 11 for the answer`: {"{output: 10}", "{context: 12}", ask + `,"max_tokens":11}`},
	} {
		w := limited(t, c.small, c.large)
		a := w.post(t, c.request)
		var e struct {
			Error struct{ Message, Type, Param, Code string }
		}
		if err := json.Unmarshal([]byte(a.body), &e); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %s %s %s: %s", a.status, e.Error.Type, e.Error.Code, e.Error.Param, e.Error.Message); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if len(w.small.Requests())+len(w.large.Requests()) > 0 {
			t.Error("an expert was called")
		}
	}
	w := limited(t, "{tools: false}", "{}")
	w.large.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, "{}", http.StatusInternalServerError)
		return true
	}
	for range 6 {
		w.post(t, ask+withTools+`}`)
	}
	if a := w.post(t, ask+withTools+`}`); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// An expert that is asked by name gets what its caller sends.
func TestCapabilitiesByName(t *testing.T) {
	w := limited(t, "{tools: false}", "{}")
	if a := w.post(t, strings.Replace(ask, `"pipe"`, `"small"`, 1)+withTools+`}`); a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A price file has the capabilities of models; the settings of an expert go over them, one by one.
func TestCapabilitiesOfThePriceFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	text := "currency: USD\nmodels: {model-s: [{in: 1, cached: 1, out: 10}]}\ncapabilities: {model-s: {tools: false, images: false}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(s *Settings) {
		e, yes := s.Experts["small"], true
		e.Price, e.Prices, e.Capabilities.Tools = nil, config.Path(file), &yes
		s.Experts["small"] = e
	})
	for request, want := range map[string]string{ask + withTools + `}`: "small", withImage + `}`: "large"} {
		if a := w.post(t, request); a.status != 200 || a.header.Get("X-Pipe-Expert") != want {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
}

func TestBadCapabilities(t *testing.T) {
	for text, want := range map[string]string{
		"{context: 0}": "capabilities.context must be a number of tokens", "{output: -1}": "capabilities.output must be", "{tools: maybe}": "maybe", "{wings: true}": "wings",
	} {
		s := expert.DefaultSettings()
		err := yaml.Load([]byte("{base_url: 'http://127.0.0.1:1/v1', model: m, capabilities: "+text+"}"), &s)
		if err == nil {
			err = s.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
