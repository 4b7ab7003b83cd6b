package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
	"pipe/internal/progress"
)

// fakeSearch is a search service on this machine. It finds pages that hold the
// query, all equally good, in the order in which they were added.
type fakeSearch struct {
	*httptest.Server
	pages [][2]string // id and text
	allow func(*http.Request) bool
	fault func(n int, w http.ResponseWriter, r *http.Request) bool // true: the request is dealt with

	mu       sync.Mutex
	searches int
	last     map[string]any
}

func newFakeSearch(t *testing.T, pages ...[2]string) *fakeSearch {
	f := &fakeSearch{pages: pages}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeSearch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.allow != nil && !f.allow(r) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"no: %s"}`, r.Header.Get("Authorization"))
		return
	}
	switch r.URL.Path {
	case "/wiki/_count":
		fmt.Fprintf(w, `{"count":%d,"_shards":{"failed":0}}`, len(f.pages))
	case "/wiki/_search":
		f.mu.Lock()
		n := f.searches
		f.searches++
		f.last = nil
		body, _ := io.ReadAll(r.Body)
		err := json.Unmarshal(body, &f.last)
		last := f.last
		f.mu.Unlock()
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if f.fault == nil || !f.fault(n, w, r) {
			f.answer(w, last)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"type":"index_not_found_exception"}}`)
	}
}

func (f *fakeSearch) answer(w io.Writer, request map[string]any) {
	query := request["query"].(map[string]any)["multi_match"].(map[string]any)["query"].(string)
	hits := []map[string]any{}
	for _, p := range f.pages {
		if strings.Contains(p[1], query) && len(hits) < int(request["size"].(float64)) {
			hits = append(hits, map[string]any{"_score": 1.5, "_source": map[string]any{"id": p[0], "text": p[1]}})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"timed_out": false, "_shards": map[string]any{"failed": 0}, "hits": map[string]any{"hits": hits}})
}

// open opens the service with settings over those that it needs.
func (f *fakeSearch) open(t *testing.T, settings map[string]any) (*Service, error) {
	t.Helper()
	all := map[string]any{"url": f.URL, "index": "wiki", "timeout": 2, "backoff": 0.001, "retries": 3}
	for k, v := range settings {
		all[k] = v
	}
	var cfg configured
	if err := part.DecodeSettings(map[string]any{"opensearch": all}, &cfg); err != nil {
		return nil, err
	}
	c, err := openSearch(context.Background(), searchSetup(t.Logf), cfg.OpenSearch)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// configured is how a configuration of costs holds the settings.
type configured struct {
	OpenSearch *Settings `json:"opensearch,omitempty"`
}

// openSearch opens a service and counts its pages, as a build does.
func openSearch(ctx context.Context, s *part.Setup, cfg *Settings) (*Service, error) {
	accounts := service.AccountsOf(s.Build)
	found, err := Open(cfg, string(cfg.CAFile), accounts.Unshared(), accounts.WarnOpen)
	if err != nil {
		return nil, err
	}
	if err := found.Count(ctx); err != nil {
		return nil, errors.Join(err, found.Close())
	}
	return found, nil
}

// searchSetup is what a retriever gets.
func searchSetup(note func(string, ...any)) *part.Setup {
	return (&part.Build{Inputs: make(part.Inputs), Progress: saying{note: note}}).Setup("search")
}

// saying passes notes on.
type saying struct {
	progress.Silent
	note func(string, ...any)
}

func (n saying) Note(format string, args ...any) { n.note(format, args...) }

var threePages = [][2]string{{"B", "oil is wet"}, {"A", "oil floats"}, {"C", "water"}}

func TestSearchService(t *testing.T) {
	f := newFakeSearch(t, threePages...)
	c, err := f.open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `index "wiki" of a search service, 3 pages`; c.Identity() != want {
		t.Errorf("identity %q", c.Identity())
	}
	found, err := c.Find(context.Background(), []string{"oil", "water", "nothing"}, 5)
	if err != nil || len(found) != 3 || len(found[0]) != 2 || len(found[1]) != 1 || len(found[2]) != 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	if found[0][0] != (part.Passage{Page: "A", Text: "oil floats"}) { // equally good pages by their ids
		t.Errorf("found %v", found[0])
	}
	if c, err = f.open(t, map[string]any{"tie": "id.keyword", "fields": []string{"title^2", "text"}}); err != nil {
		t.Fatal(err)
	}
	if found, err = c.Find(context.Background(), []string{"oil"}, 1); err != nil || found[0][0].Page != "B" {
		t.Errorf("the service sorts: %v, %v", found, err)
	}
	sent, err := json.Marshal(f.last)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"size":1`, `"fields":["title^2","text"]`, `"sort":[{"_score":"desc"},{"id.keyword":"asc"}]`, `"_source":["id","text"]`} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("sent %s without %s", sent, want)
		}
	}
}

func TestSearchServiceIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request)
		least time.Duration
	}{
		"429 with seconds": {servicetest.Status(429, "Retry-After", "1"), time.Second},
		"500":              {servicetest.Status(500), 0},
		"503 with a page":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); io.WriteString(w, "<html>") }, 0},
		"closed":           {servicetest.Cut(""), 0},
		"closed within":    {servicetest.Cut("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"), 0},
		"truncated":        {servicetest.Body(`{"hits":{"hits":[{"_sc`), 0},
		"timed out":        {servicetest.Body(`{"timed_out":true,"hits":{"hits":[]}}`), 0},
		"a shard failed":   {servicetest.Body(`{"_shards":{"failed":1},"hits":{"hits":[]}}`), 0},
		"hangs":            {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeSearch(t, threePages...)
			f.fault = servicetest.Once(c.fault)
			s, err := f.open(t, map[string]any{"timeout": 0.5})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			found, err := s.Find(context.Background(), []string{"water"}, 1)
			if err != nil || len(found[0]) != 1 || f.searches != 2 {
				t.Errorf("found %v in %d searches, %v", found, f.searches, err)
			}
			if took := time.Since(begin); took < c.least {
				t.Errorf("asked again after %v", took)
			}
		})
	}
}

func TestSearchServiceFailsForGood(t *testing.T) {
	for want, c := range map[string]struct {
		fault    func(http.ResponseWriter, *http.Request)
		searches int
	}{
		"HTTP 400":                          {servicetest.Status(400), 1},
		"HTTP 302":                          {servicetest.Status(302, "Location", "http://127.0.0.1:1/"), 1},
		"is not a search result: invalid":   {servicetest.Body("<!doctype html><title>Sign in"), 1},
		"it has no hits.hits":               {servicetest.Body(`{"documents":[]}`), 1},
		"hit 0 has no _score":               {servicetest.Body(`{"hits":{"hits":[{"_source":{}}]}}`), 1},
		`no text field "id" for the page`:   {servicetest.Body(`{"hits":{"hits":[{"_score":1,"_source":{"text":"x"}}]}}`), 1},
		`no text field "text" for the text`: {servicetest.Body(`{"hits":{"hits":[{"_score":1,"_source":{"id":"x","text":7}}]}}`), 1},
		"Internal Server Error":             {servicetest.Status(500), 4},
		"finished work is kept":             {servicetest.Status(503), 4},
		"requests a wait of 2h0m0s":         {servicetest.Status(429, "Retry-After", "7200"), 1},
	} {
		f := newFakeSearch(t, threePages...)
		f.fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { c.fault(w, r); return true }
		s, err := f.open(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Find(context.Background(), []string{"water"}, 1)
		var fault *service.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error()+fault.Hint(), want) || f.searches != c.searches {
			t.Errorf("got %v after %d searches, want %q after %d", err, f.searches, want, c.searches)
		}
	}
}

// Wrong credentials stop a build before it begins, and are never shown.
func TestSearchServiceCredentials(t *testing.T) {
	const key, password = "k-93hf7Qz1xLm0", "correct horse battery"
	t.Setenv("PIPE_TEST_SEARCH_KEY", key)
	t.Setenv("PIPE_TEST_SEARCH_USER", "reader")
	t.Setenv("PIPE_TEST_SEARCH_PASSWORD", password)
	byKey := map[string]any{"key": "PIPE_TEST_SEARCH_KEY"}
	byUser := map[string]any{"user": "PIPE_TEST_SEARCH_USER", "password": "PIPE_TEST_SEARCH_PASSWORD"}
	f := newFakeSearch(t, threePages...)
	f.allow = func(r *http.Request) bool {
		user, word, ok := r.BasicAuth()
		return r.Header.Get("Authorization") == "ApiKey "+key || ok && user == "reader" && word == password
	}
	for _, settings := range []map[string]any{byKey, byUser} {
		if _, err := f.open(t, settings); err != nil {
			t.Errorf("%v: %v", settings, err)
		}
	}
	f.allow = func(*http.Request) bool { return false }
	for _, settings := range []map[string]any{byKey, byUser, {}} {
		_, err := f.open(t, settings)
		var fault *service.Error
		if !errors.As(err, &fault) || fault.Status != 401 || fault.Tries != 0 {
			t.Fatalf("%v: got %v", settings, err)
		}
		said := err.Error() + fault.Hint()
		for _, name := range settings {
			if !strings.Contains(said, name.(string)) {
				t.Errorf("%q does not name %s", said, name)
			}
		}
		for _, hidden := range []string{key, password, "cmVhZGVyOmNvcnJlY3Q"} {
			if strings.Contains(said, hidden) {
				t.Errorf("%q shows a secret", said)
			}
		}
	}
}

func TestSearchServiceSettings(t *testing.T) {
	f := newFakeSearch(t)
	for want, settings := range map[string]map[string]any{
		"url is not an http or https URL":       {"url": "localhost:9200"},
		"url has more than scheme":              {"url": "http://me:pw@localhost:9200"},
		`index is ""`:                           {"index": ""},
		"set either key":                        {"user": "U"},
		"variable PIPE_TEST_ABSENT is empty":    {"key": "PIPE_TEST_ABSENT"},
		"key, user and password must be names":  {"key": "k-me:pw-93hf7Qz1xLm0"},
		"password must be names of environment": {"user": "U", "password": "me:pw"},
		"timeout 0 s":                           {"timeout": 0},
		`unknown key "opensearch.indx"`:         {"indx": "x"},
		"the service has no index of that name": {"index": "other"},
	} {
		_, err := f.open(t, settings)
		var fault *service.Error
		text := fmt.Sprint(err)
		if errors.As(err, &fault) {
			text += fault.Hint()
		}
		if err == nil || !strings.Contains(text, want) || strings.Contains(text, "me:pw") {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// A build goes on with other limits and credentials, and not with other fields.
func TestSearchServiceIsAnInput(t *testing.T) {
	identity := func(settings map[string]any) string {
		t.Helper()
		settings["url"], settings["index"] = "http://localhost:9200", "wiki"
		var cfg struct { // whose service lies within other settings
			configured
			Top int `json:"top"`
		}
		if err := part.DecodeSettings(map[string]any{"opensearch": settings}, &cfg); err != nil {
			t.Fatal(err)
		}
		in := make(part.Inputs)
		if err := in.SetJSON(part.SettingsRole, "part", cfg); err != nil {
			t.Fatal(err)
		}
		return in["settings of part"]
	}
	was := identity(map[string]any{})
	if is := identity(map[string]any{"timeout": 3, "retries": 9, "backoff": 2, "concurrency": 7, "key": "SOME_KEY"}); is != was {
		t.Error("limits and credentials change the result")
	}
	for _, name := range []string{"page", "text", "tie"} {
		if is := identity(map[string]any{name: "other"}); is == was {
			t.Errorf("%s does not change the result", name)
		}
	}
}
