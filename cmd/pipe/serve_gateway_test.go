package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeReadsTheGatewayAgain checks that SIGHUP reads the gateway's section of the configuration, and that a broken file is
// refused.
func TestServeReadsTheGatewayAgain(t *testing.T) {
	t.Parallel()
	folder := samplesIn(t)
	write := func(experts string) {
		text := "listen: 127.0.0.1:0\npolicies: {paths: [policy.onnx]}\ngateway:\n  experts:\n" + experts
		if err := os.WriteFile(filepath.Join(folder, "serve.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const first = "    first: {base_url: \"http://127.0.0.1:1/v1\", model: m}\n"
	write(first)
	s := serveIn(t, folder, "--config", "serve.yaml")
	listed := func() string {
		answer, err := http.Get(s.url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := listed(); !strings.Contains(text, `"id":"first"`) || strings.Contains(text, "second") {
		t.Error(text)
	}
	write(first + strings.Replace(first, "first", "second", 1))
	s.send(t, syscall.SIGHUP)
	soon(t, func() bool { return strings.Contains(listed(), `"id":"second"`) })
	write("    third: {model: m, surprise: 1}\n")
	if _, text, err := ask(http.DefaultClient, s.url+"/v1/policies/reload", ""); err != nil || !strings.Contains(text, `"kind":"gateway","what":"refused"`) || !strings.Contains(text, "surprise") {
		t.Errorf("%s, %v", text, err)
	}
	if text := listed(); !strings.Contains(text, `"id":"second"`) || strings.Contains(text, "third") {
		t.Error(text)
	}
	s.send(t, syscall.SIGTERM)
	if text := s.ends(t); !strings.Contains(text, `"msg":"refused","kind":"gateway"`) {
		t.Error(text)
	}
}
