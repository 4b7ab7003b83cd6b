package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
)

// talk is a conversation that tools/serve/replay.py holds.
type talk struct {
	ID          int          `json:"id"`
	Protocol    string       `json:"protocol"`
	Base        string       `json:"base"`
	Model       string       `json:"model"`
	System      string       `json:"system,omitempty"`
	Tools       []talkTool   `json:"tools,omitempty"`
	Choice      string       `json:"choice,omitempty"`
	Max         int          `json:"max"`
	Temperature *float64     `json:"temperature,omitempty"`
	Stop        []string     `json:"stop,omitempty"`
	Stream      bool         `json:"stream"`
	Steps       [][]talkPart `json:"steps"`
}

type talkTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
}

type talkPart struct {
	Text  string `json:"text,omitempty"`
	Image string `json:"image,omitempty"`
	Data  string `json:"data,omitempty"`
}

// A picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// talks returns conversations of texts, tools and pictures.
func talks(n int, seed uint64) []talk {
	rng := rand.New(rand.NewPCG(1, seed))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	schema := map[string]any{"type": "object", "properties": map[string]any{"page": map[string]any{"type": "string"}, "n": map[string]any{"type": "number"}}}
	tools := []talkTool{{"look_up", "Looks up a page.", schema}, {"count", "Counts \"pages\".", schema}, {"no_description", "", schema}}
	out := make([]talk, n)
	for i := range out {
		c := talk{ID: i, Model: "model-f", Max: 100 + rng.IntN(900), Stream: rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			c.System = pick("Be brief.", "You are a librarian.\nYou know \"all\" pages: 漢字 \\ 😀.")
		}
		if rng.IntN(3) > 0 {
			c.Tools = tools[:1+rng.IntN(len(tools))]
			c.Choice = pick("", "", "none", "required", "look_up")
		}
		if rng.IntN(3) == 0 {
			warm := float64(rng.IntN(10)) / 10
			c.Temperature = &warm
		}
		if rng.IntN(4) == 0 {
			c.Stop = []string{"END", "\n\n---"}
		}
		for range 1 + rng.IntN(3) {
			what := pick("hello", "think of it", "a tool please", "a silent tool", "tools tools", "think and take a tool", "a long text", "Grüße, 世界 😀 \"\\/\b\u2028", "")
			if rng.IntN(40) == 0 {
				what = "reject this"
			}
			parts := []talkPart{{Text: strings.TrimSpace(fmt.Sprintf("%s %d", what, rng.IntN(1000)))}}
			if rng.IntN(4) == 0 {
				parts = append(parts, talkPart{Image: "image/png", Data: pixel}, talkPart{Text: "and what is this?"})
			}
			c.Steps = append(c.Steps, parts)
		}
		out[i] = c
	}
	return out
}

// heldTalk is what a caller saw of a conversation.
type heldTalk struct {
	ID    int
	Views []map[string]any
}

// replay holds conversations by the official clients.
func replay(t testing.TB, python string, all []talk) []heldTalk {
	t.Helper()
	var in, out, errs bytes.Buffer
	for _, c := range all {
		if err := json.NewEncoder(&in).Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../../tools/serve/replay.py")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, script)
	c.Stdin, c.Stdout, c.Stderr = &in, &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var views []heldTalk
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var v heldTalk
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	if len(views) != len(all) {
		t.Fatalf("%d of %d conversations\n%s", len(views), len(all), errs.String())
	}
	return views
}

// replayed is how many conversations a pair of protocols gets: $PIPE_REPLAY, else a few.
func replayed(t testing.TB) int {
	t.Helper()
	text := os.Getenv("PIPE_REPLAY")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// callerBase is the base URL of a gateway or a service for a client.
func callerBase(url, protocol string) string {
	if protocol == "anthropic" {
		return url
	}
	return url + "/v1"
}

// callerProtocols are those that clients speak.
var callerProtocols = []string{"openai", "responses", "anthropic"}

// to sends a conversation to a base URL.
func (c talk) to(protocol, base, model string) talk {
	c.Protocol, c.Base, c.Model = protocol, base, model
	if protocol == "responses" {
		c.Stop = nil // they have no such field
	}
	return c
}

// without leaves out what a kind of expert lacks: what it refuses by name, and for ollama texts after pictures, which it has
// beside the text of a message.
func (c talk) without(kind string) talk {
	for i, parts := range c.Steps {
		if kind == "ollama" && len(parts) == 3 {
			c.Steps[i] = parts[:2]
		}
	}
	switch {
	case kind == "ollama", kind == "bedrock" && c.Choice == "none":
		c.Choice = ""
	case kind == "responses":
		c.Stop = nil
	}
	return c
}

// newWorldOfKind is a gateway whose only expert is a fake service of a kind.
func newWorldOfKind(t testing.TB, kind string) (*world, *gatewaytest.Fake) {
	fake := gatewaytest.NewFake(t, kind)
	return newWorldAt(t, kind, fake.Base()), fake
}

// newWorldAt is a gateway whose only expert is at an address.
func newWorldAt(t testing.TB, kind, base string) *world {
	t.Setenv("PIPE_FAKE_KEY", "key-of-the-fake")
	return newWorld(t, func(s *Settings) {
		e := s.Experts["small"]
		e.Kind, e.BaseURL, e.Model, e.Key = kind, base, "model-f", "PIPE_FAKE_KEY"
		if kind == "azure" {
			e.Query = map[string]string{"api-version": "2024-10-21"}
		}
		e.Timeouts = expert.DefaultSettings().Timeouts
		s.Experts, s.Advice = map[string]expert.Settings{"small": e}, nil
		s.Breaker.Failures = 1 << 20
		s.Fallback.Deadline = time.Minute
	})
}

// TestReplay holds conversations with services directly and through a gateway, for each pair of protocols, and compares all
// that the callers see. Within a protocol that is all of the client's own objects; across protocols it is the text, the
// reasoning, the calls with their arguments, the end, the usage and errors. What a service answers depends on all that it
// read, so what a translation loses is seen, too.
//
//	PIPE_REPLAY=1000 go test ./serve/gateway -run TestReplay -timeout 1h
func TestReplay(t *testing.T) {
	python := judge.Python(t, "openai", "anthropic")
	var all []talk
	type pair struct {
		caller, kind string
		from, direct int // of the conversations
	}
	var pairs []pair
	n := replayed(t)
	for i, kind := range []string{"openai", "responses", "anthropic", "azure", "gemini", "ollama", "bedrock"} {
		w, _ := newWorldOfKind(t, kind)
		for k, caller := range callerProtocols {
			own := gatewaytest.NewFake(t, caller)
			pairs = append(pairs, pair{caller, kind, len(all), len(all) + n})
			var direct []talk
			for _, c := range talks(n, uint64(10*i+k)) {
				c = c.without(kind)
				all = append(all, c.to(caller, callerBase(w.URL, caller), "pipe"))
				direct = append(direct, c.to(caller, callerBase(own.URL, caller), "model-f"))
			}
			all = append(all, direct...)
		}
	}
	views := replay(t, python, all)
	for _, p := range pairs {
		answers, different := 0, 0
		for i := range n {
			want, got := views[p.direct+i], views[p.from+i]
			answers += len(want.Views)
			if d := difference(want, got, p.caller, p.kind); d != "" {
				if different++; different < 4 {
					t.Errorf("%s to %s, conversation %d, %+v: %s", p.caller, p.kind, i, all[p.from+i].Steps, d)
				}
			}
		}
		t.Logf("%s to %s: %d conversations, %d answers, %d different", p.caller, p.kind, n, answers, different)
	}
}

// difference describes the first difference between what two callers saw, "" if there is none.
func difference(want, got heldTalk, caller, kind string) string {
	if len(want.Views) != len(got.Views) {
		return fmt.Sprintf("%d answers, not %d: %.300v", len(got.Views), len(want.Views), got.Views)
	}
	for i, w := range want.Views {
		g := got.Views[i]
		for name := range w {
			if kind != caller && (name == "native" || name == "kinds") {
				continue
			}
			if kind == "ollama" && name == "usage" {
				w[name].([]any)[1] = 0 // it does not say how much was cached
			}
			a, _ := json.Marshal(w[name])
			b, _ := json.Marshal(g[name])
			if !bytes.Equal(a, b) {
				return fmt.Sprintf("answer %d: %s: %s, want %s", i, name, b, a)
			}
		}
	}
	return ""
}

// TestModelServer holds conversations with a server of a real model, directly in chat completions and through the gateway, whose
// expert is the server in each protocol that it speaks, by callers of all protocols, whole and as streams. It compares texts, ends, usage
// and errors. At temperature 0 the model must answer the same again. tools/serve/model_server.py starts such a server, llama.cpp's.
// That one never says in Responses that its limit of tokens ended an answer, and its streams of them break OpenAI's client, which
// therefore only translated ones are read by.
//
//	PIPE_MODEL_SERVER=http://127.0.0.1:PORT go test ./serve/gateway -run TestModelServer -v
func TestModelServer(t *testing.T) {
	server := os.Getenv("PIPE_MODEL_SERVER")
	if server == "" {
		t.Skip("PIPE_MODEL_SERVER has the address of no server")
	}
	python := judge.Python(t, "openai", "anthropic")
	cold := 0.
	var said []talk
	for i, text := range []string{"Is oil good?", "Grüße, 世界 😀 \"\\/\b\u2028", "one\n\ntwo"} {
		for _, stream := range []bool{false, true} {
			c := talk{ID: len(said), Max: 12, Temperature: &cold, Stream: stream, Steps: [][]talkPart{{{Text: text}}, {{Text: "And why?"}}}}
			c.System = []string{"", "Be brief."}[i%2]
			said = append(said, c)
		}
	}
	var direct []talk
	for _, c := range said {
		direct = append(direct, c.to("openai", callerBase(server, "openai"), "model-f"))
	}
	want := replay(t, python, direct)
	for _, kind := range callerProtocols { // the server speaks them, too
		w := newWorldAt(t, kind, callerBase(server, kind))
		for _, caller := range callerProtocols {
			var through []talk
			for _, c := range said {
				c.Stream = c.Stream && (kind != "responses" || caller != "responses")
				through = append(through, c.to(caller, callerBase(w.URL, caller), "pipe"))
			}
			answers := 0
			for i, got := range replay(t, python, through) {
				answers += len(got.Views)
				if d := difference(comparableTalk(want[i], kind), comparableTalk(got, kind), "", kind); d != "" {
					t.Errorf("%s to %s, stream %v, %+v: %s", caller, kind, through[i].Stream, through[i].Steps, d)
				}
			}
			t.Logf("%s to %s: %d answers", caller, kind, answers)
		}
	}
}

// comparableTalk leaves out what a server may say otherwise of the same answer: how much of the prompt it had in its cache, and in
// Responses the end.
func comparableTalk(h heldTalk, kind string) heldTalk {
	out := heldTalk{ID: h.ID}
	for _, v := range h.Views {
		v = maps.Clone(v)
		if u, ok := v["usage"].([]any); ok {
			v["usage"] = []any{u[0], u[2]}
		}
		if kind == "responses" {
			delete(v, "finish")
		}
		out.Views = append(out.Views, v)
	}
	return out
}
