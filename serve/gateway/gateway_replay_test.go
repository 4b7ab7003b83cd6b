package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/serve/gateway/gatewaytest"
)

// talk is a conversation that tools/serve/replay.py holds.
type talk struct {
	ID          int          `json:"id"`
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

// talks returns conversations of texts, tools and pictures. Settings that one of the protocols lacks are left out: stop is
// one, since responses have none.
func talks(n int, model string) []talk {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	schema := map[string]any{"type": "object", "properties": map[string]any{"page": map[string]any{"type": "string"}, "n": map[string]any{"type": "number"}}}
	tools := []talkTool{{"look_up", "Looks up a page.", schema}, {"count", "Counts \"pages\".", schema}, {"no_description", "", schema}}
	out := make([]talk, n)
	for i := range out {
		c := talk{ID: i, Model: model, Max: 100 + rng.IntN(900), Stream: rng.IntN(2) == 0}
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

// held is what a caller saw of a conversation.
type held struct {
	ID    int
	Views []map[string]any
}

// replay holds conversations by the script in Python.
func replay(t testing.TB, python, protocol, base string, all []talk) []held {
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
	c := exec.CommandContext(t.Context(), python, script, protocol, base)
	c.Stdin, c.Stdout, c.Stderr = &in, &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var views []held
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var v held
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
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReplayOfTheFakesAlone(t *testing.T) {
	python := judge.Python(t, "openai", "anthropic")
	var first []held
	for _, protocol := range []string{"openai", "responses", "anthropic"} {
		fake := gatewaytest.NewFake(t, protocol)
		base := fake.Base()
		views := replay(t, python, protocol, base, talks(replayed(t), "model-f"))
		if first == nil {
			first = views
		}
		for i, v := range views {
			if d := difference(first[i], v, false); d != "" {
				t.Errorf("%s, conversation %d: %s", protocol, v.ID, d)
			}
		}
	}
}

// difference describes the first difference between what two callers saw, "" if there is none. own compares also the
// client's own objects.
func difference(want, got held, own bool) string {
	if len(want.Views) != len(got.Views) {
		return fmt.Sprintf("%d answers, not %d: %v", len(got.Views), len(want.Views), got.Views)
	}
	for i, w := range want.Views {
		g := got.Views[i]
		for name := range w {
			if !own && (name == "native" || name == "kinds") {
				continue
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
