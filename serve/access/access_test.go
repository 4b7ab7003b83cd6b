package access

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
)

const webKey, jobKey = "web-0123456789abcdef", "job-0123456789abcdef"

// served answers with the caller's name.
var served = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte("served " + CallerOf(r.Context()).Name))
})

func open(t *testing.T, s Settings) *Access {
	t.Helper()
	a, err := New(s, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// get sends a request with headers, given as name and value.
func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestKeys(t *testing.T) {
	digest := digestOf(jobKey)
	h := open(t, Settings{Open: []string{"metrics"}, Keys: []Key{
		{Name: "web", Key: webKey}, {Name: "job", SHA256: hexOf(digest)},
	}}).Wrap(served)
	for _, c := range []struct {
		path    string
		headers []string
		code    int
		body    string
	}{
		{"/v1/decide", []string{"Authorization", "Bearer " + webKey}, 200, "served web"},
		{"/v1/decide", []string{"Authorization", "bearer " + webKey}, 200, "served web"},
		{"/v1/decide", []string{"x-api-key", jobKey}, 200, "served job"},
		{"/v1/decide", nil, 401, `"type":"authentication_error"`},
		{"/v1/decide", []string{"x-api-key", jobKey + "x"}, 401, `"code":"key"`},
		{"/v1/messages", []string{"x-api-key", jobKey}, 200, "served job"},
		{"/v1/messages", []string{"x-api-key", jobKey + "x"}, 401, `"type":"authentication_error"},"type":"error"}`},
		{"/v1/decide", []string{"x-api-key", hexOf(digest)}, 401, "key"},
		{"/v2/models/x/infer", nil, 401, `{"error":"the request needs`},
		{"/metrics", nil, 200, "served "},
		{"/", nil, 401, ""},
		{"/page/page.css", nil, 200, ""},
		{"/page/state", nil, 401, ""},
		{"/openapi.json", nil, 401, ""},
		{"/healthz", nil, 200, ""},
		{"/v2/health/ready", nil, 200, ""},
		{"/v2/health/ready/", nil, 401, ""},
	} {
		w := get(h, c.path, c.headers...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s %v: %d %s, want %d with %s", c.path, c.headers, w.Code, w.Body, c.code, c.body)
		}
		if strings.Contains(w.Body.String(), webKey) || strings.Contains(w.Body.String(), jobKey) {
			t.Errorf("%s answers with a key", c.path)
		}
	}
}

func TestWithoutKeysEverybodyMayCall(t *testing.T) {
	h := open(t, Settings{}).Wrap(served)
	if w := get(h, "/v1/decide"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// clock is a time that tests set.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

// TestLimits checks rate, tokens and money of a key, that periods begin again, and that a clock which is set back does not
// lock a key.
func TestLimits(t *testing.T) {
	now := &clock{time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	a := &Access{now: now.now, settings: Settings{Keys: []Key{
		{Name: "web", Key: webKey, Rate: 2, Burst: 3}, {Name: "job", Key: jobKey, Tokens: 100, Money: 1, Period: time.Hour},
	}}}
	a.keys.Store(&[]knownKey{})
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	h := a.Wrap(served)
	ask := func(key string, code int, after string) {
		t.Helper()
		if w := get(h, "/v1/decide", "x-api-key", key); w.Code != code || w.Header().Get("Retry-After") != after {
			t.Errorf("%d %q %s, want %d %q", w.Code, w.Header().Get("Retry-After"), w.Body, code, after)
		}
	}
	for range 3 {
		ask(webKey, 200, "")
	}
	ask(webKey, 429, "1")
	now.t = now.t.Add(500 * time.Millisecond)
	ask(webKey, 200, "")
	ask(webKey, 429, "1")
	job := a.owner(jobKey)
	ask(jobKey, 200, "")
	job.Charge(99, 0.5)
	ask(jobKey, 200, "")
	job.Charge(1, 0)
	ask(jobKey, 429, "3600")
	now.t = now.t.Add(time.Hour)
	ask(jobKey, 200, "")
	job.Charge(-5, 2)
	ask(jobKey, 429, "3600")
	now.t = now.t.Add(-10 * time.Hour)
	ask(jobKey, 429, "3600") // the period begins at the new time
	now.t = now.t.Add(time.Hour)
	ask(jobKey, 200, "")
}

// TestSpentIsKept checks that what a key used survives a restart, and that a damaged file is an error.
func TestSpentIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent.json")
	s := Settings{Keys: []Key{{Name: "job", Key: jobKey, Tokens: 100}}, Spent: config.Path(file)}
	a := open(t, s)
	a.owner(jobKey).Charge(100, 0.25)
	if err := a.Save(); err != nil {
		t.Fatal(err)
	}
	b := open(t, s)
	if got := b.owner(jobKey).Spent(); got.Tokens != 100 || got.Money != 0.25 {
		t.Errorf("restored %+v", got)
	}
	if w := get(b.Wrap(served), "/v1/decide", "x-api-key", jobKey); w.Code != 429 || !strings.Contains(w.Body.String(), "insufficient_quota") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := os.WriteFile(file, []byte(`{"job": {"tokens": -1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(s, nil, nil); err == nil || !strings.Contains(err.Error(), "spent.json") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestKeysFile checks that keys are replaced while requests come, keep what they used, and that a bad file changes nothing.
func TestKeysFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("keys:\n- {name: web, key: " + webKey + "}\n")
	a := open(t, Settings{KeysFile: config.Path(file)})
	running := a.owner(webKey)
	running.Charge(3, 0)
	write("keys:\n- {name: web, key: " + webKey + "-new}\n- {name: job, key: " + jobKey + "}\n")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	running.Charge(4, 0) // a request that began with the old key
	if a.owner(webKey) != nil || a.owner(webKey+"-new").Spent().Tokens != 7 || a.owner(jobKey) == nil {
		t.Error("the keys are not those of the new file")
	}
	for _, bad := range []string{"", "keys: []\n", "keys:\n- {name: web, key: short}\n", "keys:\n- {name: web, kee: x}\n", "keys:\n- {name: a, key: " + webKey + "}\n- {name: b, key: " + webKey + "}\n"} {
		write(bad)
		err := a.Reload()
		var problem *config.Error
		if !errors.As(err, &problem) || strings.Contains(err.Error(), webKey) {
			t.Errorf("%q: %v", bad, err)
		}
		if a.owner(jobKey) == nil {
			t.Fatalf("%q: the old keys are gone", bad)
		}
	}
}

func TestValidate(t *testing.T) {
	err := Settings{Open: []string{"all"}, Keys: []Key{
		{Name: "a b", Key: webKey}, {Name: "web"}, {Name: "web", Key: jobKey, SHA256: "aa"}, {Name: "n", SHA256: "zz", Rate: -1}, {Name: "m", Key: webKey + "1", Rate: -1},
	}}.Validate()
	if n := len(config.Lines(err)); n != 7 {
		t.Errorf("%d problems: %v", n, err)
	}
}

func hexOf(d [32]byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range d {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}
