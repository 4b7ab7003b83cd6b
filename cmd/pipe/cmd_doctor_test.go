package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDoctorOfAServer: the health check of a container fails unless the server is ready.
func TestDoctorOfAServer(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	ask := func() (int, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"doctor", "--server", server.URL}, strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String() + stderr.String()
	}
	if code, said := ask(); code != 0 || !strings.Contains(said, "ready") {
		t.Errorf("exit code %d: %s", code, said)
	}
	status = http.StatusServiceUnavailable
	if code, said := ask(); code != 1 || !strings.Contains(said, "not ready") {
		t.Errorf("exit code %d of a server that is not ready: %s", code, said)
	}
	server.Close()
	if code, said := ask(); code != 1 || !strings.Contains(said, "ask the server") {
		t.Errorf("exit code %d without a server: %s", code, said)
	}
	for _, url := range []string{"", "127.0.0.1:8080"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"doctor", "--server", url}, strings.NewReader(""), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "http://127.0.0.1:8080") {
			t.Errorf("--server %q: exit code %d: %s", url, code, stderr.String())
		}
	}
}
