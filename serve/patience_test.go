package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/serve/gateway/gatewaytest"
)

// TestTimesOfExpertsAreKept checks that the page shows what is learned about the times of an expert, that it is written beside the
// configuration when the server stops, and that the next server has it. A check of the configuration writes nothing.
func TestTimesOfExpertsAreKept(t *testing.T) {
	service, folder := gatewaytest.New(t), t.TempDir()
	file := gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "  patience: {file: times.json}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	state := func(r *running) string {
		code, _, body := r.do(t, "GET", "/page/state", "")
		if code != 200 {
			t.Errorf("%d %s", code, body)
		}
		return body
	}
	configured := func(c *Config) { c.Gateway = read.Gateway }
	r := start(t, configured, nil)
	if body := state(r); strings.Contains(body, `"patience"`) {
		t.Errorf("nothing is learned yet: %s", body)
	}
	for range 3 {
		if code, _, body := r.do(t, "POST", "/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"x"}]}`, "Content-Type", "application/json"); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	want := `"patience":[{"expert":"small","stream":false,"tokens":1024,"answers":3,`
	if body := state(r); !strings.Contains(body, want) || !strings.Contains(body, `"allowance_s":180,"known":false`) {
		t.Error(body)
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	kept := filepath.Join(folder, "times.json")
	before, err := os.ReadFile(kept)
	if err != nil || strings.Contains(string(before), "first-key") {
		t.Errorf("%s, %v", before, err)
	}
	again := start(t, configured, nil)
	if body := state(again); !strings.Contains(body, want) {
		t.Error(body)
	}
	again.stop()
	if err := again.wait(t); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(kept); err != nil || string(after) != string(before) {
		t.Errorf("it changed without an answer: %s, %v", after, err)
	}
	c := DefaultConfig()
	configured(&c)
	c.Gateway.Patience.File = "s3://bucket/times.json"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "gateway.patience.file: ") {
		t.Error(err)
	}
}
