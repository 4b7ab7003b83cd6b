package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/serve/gateway/gatewaytest"
)

// gatewayFile writes a configuration with one expert, whose key is in a file beside it.
func gatewayFile(t *testing.T, folder, base, model, key string) string {
	t.Helper()
	file := filepath.Join(folder, "serve.yaml")
	text := fmt.Sprintf("gateway:\n  experts:\n    small: {base_url: %q, model: %s, key_file: key}\n", base, model)
	for name, text := range map[string]string{file: text, filepath.Join(folder, "key"): key} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestGatewayIsReadAgain checks that a reload takes the experts of the configuration and their keys, and that it refuses a
// broken configuration, in its answer and in the log.
func TestGatewayIsReadAgain(t *testing.T) {
	service, folder := gatewaytest.New(t), t.TempDir()
	file := gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789")
	r := start(t, func(c *Config) {
		read, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		c.Gateway = read.Gateway
	}, nil)
	r.reread = func() (Config, error) { return Load(file) }
	ask := func() string {
		code, _, body := r.do(t, "POST", "/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"x"}]}`, "Content-Type", "application/json")
		if code != 200 {
			t.Errorf("%d %s", code, body)
		}
		all := service.Requests()
		last := all[len(all)-1]
		return last.Header.Get("Authorization") + " " + string(last.Body)
	}
	reload := func() string {
		_, _, body := r.do(t, "POST", "/v1/policies/reload", "")
		return body
	}
	if sent := ask(); !strings.HasPrefix(sent, "Bearer first-key-0123456789 ") || !strings.Contains(sent, `"model-1"`) {
		t.Error(sent)
	}
	if _, _, body := r.do(t, "GET", "/v1/models", ""); strings.Contains(body, `"pipe`) {
		t.Errorf("a policy of features is listed: %s", body)
	}
	if code, h, body := r.do(t, "POST", "/v1/chat/completions", `{"model":"pipe","messages":[{"role":"user","content":"x"}]}`); code != 400 || h.Get("Retry-After") != "" || !strings.Contains(body, "takes neither texts nor images") {
		t.Errorf("a policy of features: %d %s", code, body)
	}
	gatewayFile(t, folder, service.Base(), "model-2", "second-key-0123456789")
	if body := reload(); !strings.Contains(body, `{"kind":"gateway","what":"loaded"}`) {
		t.Error(body)
	}
	for _, broken := range []string{"gateway: {experts: {small: {base_url: 7}}}\n", "gateway: {}\n", ""} {
		if sent := ask(); !strings.HasPrefix(sent, "Bearer second-key-0123456789 ") || !strings.Contains(sent, `"model-2"`) {
			t.Error(sent)
		}
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if broken == "" { // the file of the key has gone instead
			gatewayFile(t, folder, service.Base(), "model-3", "third-key-0123456789")
			if err := os.Remove(filepath.Join(folder, "key")); err != nil {
				t.Fatal(err)
			}
		}
		if body := reload(); !strings.Contains(body, `"kind":"gateway","what":"refused","reason":"`) {
			t.Errorf("%q: %s", broken, body)
		}
	}
	if sent := ask(); !strings.HasPrefix(sent, "Bearer second-key-0123456789 ") {
		t.Error(sent)
	}
	if text := r.log.String(); strings.Count(text, `"msg":"refused","kind":"gateway"`) != 3 || strings.Contains(text, "key-0123456789") {
		t.Error(text)
	}
}

// TestStreamsAreDrained checks that a stream which is open when the server is told to stop is passed on to its end.
func TestStreamsAreDrained(t *testing.T) {
	service, folder := gatewaytest.New(t), t.TempDir()
	service.Delay, service.Text = 50*time.Millisecond, strings.Repeat("word ", 10)
	file := gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789")
	r := start(t, func(c *Config) {
		read, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		c.Gateway = read.Gateway
	}, nil)
	answer, err := http.Post(r.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"small","stream":true,"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	in := bufio.NewReader(answer.Body)
	if first, err := in.ReadString('\n'); err != nil || !strings.Contains(first, "word ") {
		t.Fatalf("%q, %v", first, err)
	}
	r.stop()
	rest, err := io.ReadAll(in)
	if err != nil || strings.Count(string(rest), "word ") != 9 || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("%s, %v", rest, err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}
