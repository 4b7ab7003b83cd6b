package builder

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat/chattest"
	"pipe/internal/storage"
)

// thinks is a service that is right about everything with a high effort, and about the claims that hold with any other. It
// states 500 tokens of reasoning beside its answer with a high effort, and 20 with a low one; requests without an effort are
// answered without reasoning.
func thinks(t *testing.T, server *chattest.Server) {
	server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		var asked struct {
			Effort   string `json:"reasoning_effort"`
			Messages []struct{ Content string }
		}
		text, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(text, &asked)); err != nil {
			t.Error(err)
		}
		answer := "SUPPORTS"
		if asked.Effort == "high" && strings.Contains(asked.Messages[len(asked.Messages)-1].Content, " not ") {
			answer = "REFUTES"
		}
		chattest.WriteAnswer(w, answer, 100, 5+map[string]int{"high": 500, "low": 20}[asked.Effort])
		return true
	}
}

// TestBuildWithEfforts: the same model under three efforts is three pairs, each with the losses and fees of its answers.
// The answers of each are kept, so that a second build asks nothing.
func TestBuildWithEfforts(t *testing.T) {
	server := chattest.NewServer(t)
	thinks(t, server)
	w := newClaims(t, server, 30, map[string]any{"price": map[string]any{"prompt": 1, "completion": 2}})
	w.cfg.Experts = w.cfg.Experts[:1]
	w.cfg.Advice = append(w.cfg.Advice,
		part.AdviceConfig{Name: "low", Kind: "fields", Settings: map[string]any{"effort": "low"}},
		part.AdviceConfig{Name: "high", Kind: "fields", Settings: map[string]any{"fields": map[string]any{"openai": map[string]any{"reasoning_effort": "high", "max_tokens": 2000}}}})
	_, tensor := w.mustRun(t)
	for i, label := range tensor.Labels {
		if label == "NOT ENOUGH INFO" {
			continue
		}
		wrong := float32(0)
		if label == "REFUTES" {
			wrong = 1
		}
		for k, want := range []struct{ loss, out, fee float32 }{{wrong, 5, 110e-6}, {wrong, 25, 150e-6}, {0, 505, 1110e-6}} {
			cell := 3*i + k
			if tensor.Loss[cell] != want.loss || tensor.Usage[costs.TokensOut][cell] != want.out || tensor.Fee[cell] != want.fee {
				t.Errorf("%s under %s: loss %v, %v tokens, fee %v; want %+v", tensor.IDs[i], tensor.Actions.Advice[k].Name, tensor.Loss[cell], tensor.Usage[costs.TokensOut][cell], tensor.Fee[cell], want)
			}
		}
	}
	asked := server.Requests()
	again := Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}
	if _, err := Run(t.Context(), w.cfg, again); err != nil {
		t.Error(err)
	}
	if n := server.Requests(); n != asked {
		t.Errorf("%d answers were asked for again", n-asked)
	}
}

// TestFieldsNeedAChatService: an expert that cannot take fields is an error before anything is asked, and so is advice that sets
// nothing in the requests of the expert's protocol.
func TestFieldsNeedAChatService(t *testing.T) {
	server := chattest.NewServer(t)
	for _, c := range []struct {
		change func(*world)
		want   string
	}{
		{func(w *world) { w.cfg.Advice[1].Settings = map[string]any{"effort": "huge"} }, `advice "think": effort: is "huge"`},
		{func(w *world) { w.cfg.Advice[1].Settings = nil }, `advice "think": set effort, or fields of a protocol`},
		{func(w *world) {
			w.cfg.Advice[1].Settings = map[string]any{"fields": map[string]any{"openai": map[string]any{"messages": 1}}}
		}, `fields.openai.messages cannot be set here`},
		{func(w *world) { w.cfg.Advice[1].Settings = map[string]any{"effort": "max"} }, `expert "small": advice "think" sets nothing for the protocol openai, which the service speaks: list it under unavailable`},
		{func(w *world) {
			w.addExpert("deaf", func(context.Context, *part.Setup, map[string]any) (part.Expert, error) { return &ownExpert{}, nil })
			w.cfg.Experts = append(w.cfg.Experts, part.ExpertConfig{Name: "net", Kind: "deaf"})
		}, `expert "net": advice "think" sets fields of requests, and only experts behind a chat service (kind endpoint) have any: list it under unavailable`},
	} {
		w := newClaims(t, server, 5, nil)
		w.cfg.Advice = append(w.cfg.Advice, part.AdviceConfig{Name: "think", Kind: "fields", Settings: map[string]any{"effort": "high"}})
		c.change(w)
		_, err := w.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if n := server.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
