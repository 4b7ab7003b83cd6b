package gateway

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// TestGuaranteedPolicy: the gateway answers every chat, so it does not start with a policy that accepts only some of its decisions. One that
// is loaded later answers no chat.
func TestGuaranteedPolicy(t *testing.T) {
	folder := ""
	w := newWorldOf(t, nil, nil, func(at string, _ *decision.Settings) {
		folder = at
		writeAnyPrice(t, at, "any", func(*policy.Policy) {})
	})
	if a := w.post(t, askPeople); a.status != 200 {
		t.Fatal(a)
	}
	set := w.decider.Policies()
	before := digestOf(t, set, "any")
	m := decidetest.Guarded(t, anyPricePolicy(func(*policy.Policy) {}), nil)
	if err := m.WriteFile(filepath.Join(folder, "any.onnx")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); digestOf(t, set, "any") == before; time.Sleep(10 * time.Millisecond) {
		if set.Reload(t.Context()); time.Now().After(end) {
			t.Fatal("the file is not loaded again")
		}
	}
	if a := w.post(t, askPeople); a.status == 200 || !strings.Contains(a.body, `policy \"any\" accepts only some of its decisions`) {
		t.Error(a)
	}
	if a := w.post(t, question+`}`); a.status != 200 {
		t.Error("the other policy answers:", a)
	}
	api, err := New(w.decider, nil, slog.New(slog.DiscardHandler), w.settings())
	if err == nil {
		api.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `policy "any" accepts only some of its decisions`) {
		t.Error("a start:", err)
	}
}

// digestOf is the digest of the version of a policy that is served.
func digestOf(t *testing.T, set *policies.Set, name string) string {
	p, err := set.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	return p.Digest
}
