package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/serve/gateway/gatewaytest"
)

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// sendFirst sends a request with a body of n bytes, all of it before anything is read, and returns the answer.
func sendFirst(t *testing.T, url, path, header string, n int64) (status int, body string) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: 100000000\r\n\r\n", path, header); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(c, zeros{}, n); err != nil {
		t.Fatalf("%s: after the body: %v", path, err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r.StatusCode, string(text)
}

// TestLongBodiesAreAnswered: a client that sends 100 MB before it reads gets its answer, and no reset, whoever refused the request.
// One that waits to be asked for the body is answered at once.
func TestLongBodiesAreAnswered(t *testing.T) {
	service, folder := gatewaytest.New(t), t.TempDir()
	r := start(t, func(c *Config) {
		read, err := Load(gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		c.Gateway, c.Log.Folder = read.Gateway, config.Path(filepath.Join(folder, "log"))
		c.Limits.Body = 1 << 20
	}, nil)
	const all = 100_000_000
	for _, c := range []struct {
		path, header string
		sent         int64
		status       int
		want         string
	}{
		{"/v1/chat/completions", "", all, 413, "the request is longer than 1048576 bytes"},
		{"/v1/chat/completions", "Content-Encoding: br\r\n", all, 415, "compressed"},
		{"/v1/decide", "", all, 413, ""},
		{"/v2/models/policy/infer", "", all, 413, ""},
		{"/v1/nothing", "", all, 404, "not_found"},
		{"/v1/nothing", "Expect: 100-continue\r\n", 0, 404, "not_found"},
	} {
		began := time.Now()
		status, body := sendFirst(t, r.url, c.path, c.header, c.sent)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
		if took := time.Since(began); c.header == "Expect: 100-continue\r\n" && took > time.Second {
			t.Errorf("%s: answered after %v", c.path, took)
		}
	}
	response, err := http.Post(r.url+"/v1/chat/completions", "application/json", io.LimitReader(zeros{}, all)) //nolint:noctx // as clients do
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(response.Status)
	}
}

// A client that stops within a body is not waited for for long.
func TestStoppedBodiesAreLeft(t *testing.T) {
	r := start(t, func(c *Config) { c.Limits.BodyTime = 200 * time.Millisecond }, nil)
	if status, body := sendFirst(t, r.url, "/v1/nothing", "", 1000); status != 404 || !strings.Contains(body, "not_found") {
		t.Errorf("%d %s", status, body)
	}
}
