package search

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
)

// A search service that gives credentials back does not get them into passages.
func TestCredentialsAreInNoPassage(t *testing.T) {
	t.Setenv("PIPE_TEST_SEARCH_USER", "searcher")
	t.Setenv("PIPE_TEST_SEARCH_PASSWORD", servicetest.Key)
	both := base64.StdEncoding.EncodeToString([]byte("searcher:" + servicetest.Key))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "_count") {
			io.WriteString(w, `{"count":3}`)
			return
		}
		fmt.Fprintf(w, `{"hits":{"hits":[{"_score":1,"_source":{"id":"p","text":"text %s and %s"}}]}}`, both, strings.ToUpper(servicetest.Key))
	}))
	defer server.Close()
	r, err := openSearch(t.Context(), searchSetup(t.Logf), &Settings{
		URL: server.URL, Index: "i", Page: "id", Text: "text", Timeout: 5, Concurrency: 1, RetrySettings: service.RetrySettings{Backoff: 0.001},
		User: "PIPE_TEST_SEARCH_USER", Password: "PIPE_TEST_SEARCH_PASSWORD",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found, err := r.Find(t.Context(), []string{"q"}, 1)
	if text := found[0][0].Text; err != nil || !strings.HasSuffix(text, "and [key]") || strings.Contains(text, both[16:40]) {
		t.Errorf("got %+v, %v", found, err)
	}
}

// A search service that returns a million pages where one was asked for takes no
// time that grows with their square.
func TestManyMorePagesThanAskedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	hits := make([]string, 300_000)
	for i := range hits {
		hits[i] = fmt.Sprintf(`{"_score":%d,"_source":{"id":"p%d","text":"t"}}`, i, i)
	}
	page := `{"hits":{"hits":[` + strings.Join(hits, ",") + `]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "_count") {
			io.WriteString(w, `{"count":3}`)
			return
		}
		io.WriteString(w, page)
	}))
	defer server.Close()
	r, err := openSearch(t.Context(), searchSetup(t.Logf), &Settings{URL: server.URL, Index: "i", Page: "id", Text: "text", Timeout: 60, Concurrency: 1, RetrySettings: service.RetrySettings{Backoff: 0.001}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	begin := time.Now()
	found, err := r.Find(t.Context(), []string{"q"}, 2)
	if err != nil || len(found[0]) != 2 || found[0][0].Page != "p299999" {
		t.Errorf("got %d passages, %v", len(found[0]), err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

// A certificate that this machine does not know is an error at once, which names
// the setting by which it is trusted; with it, requests go through.
func TestSearchServiceCertificates(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server, certificate, _ := servicetest.TLS(t, http2, servicetest.Body(`{"count":3}`))
		var fault *service.Error
		search := func(ca string) error {
			r, err := openSearch(t.Context(), searchSetup(t.Logf), &Settings{
				URL: server.URL, Index: "i", Page: "id", Text: "text", Timeout: 5, Concurrency: 1, RetrySettings: service.RetrySettings{Backoff: 0.001}, CAFile: part.Path(ca),
			})
			if err == nil {
				err = r.Close()
			}
			return err
		}
		if err := search(""); !errors.As(err, &fault) || !strings.Contains(fault.Hint(), "ca_file") {
			t.Errorf("search: %v", err)
		}
		if err := search(certificate); err != nil {
			t.Errorf("search with ca_file: %v", err)
		}
	}
}

// TestCredentialsOverHTTPAreSaid: credentials that leave this machine unencrypted are said once a service, without them.
func TestCredentialsOverHTTPAreSaid(t *testing.T) {
	t.Setenv("SOME_KEY", "sk-very-secret-1234567890")
	var notes []string
	s := searchSetup(func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
	for _, search := range []map[string]any{{"key": "SOME_KEY"}, {"user": "SOME_KEY", "password": "SOME_KEY"}, {}} {
		cfg := Settings{URL: "http://search.invalid", Index: "wiki", Page: "id", Text: "text", Timeout: 1, RetrySettings: service.RetrySettings{Backoff: 0.1}, Concurrency: 1}
		cfg.Key, _ = search["key"].(string)
		cfg.User, _ = search["user"].(string)
		cfg.Password, _ = search["password"].(string)
		if _, err := openSearch(t.Context(), s, &cfg); err == nil {
			t.Error("pages of a host that does not exist")
		}
	}
	if len(notes) != 1 || strings.Contains(notes[0], "very-secret") {
		t.Errorf("said %q", notes)
	}
}

// FuzzSearchResponse checks that no response of a search service is a panic, and
// that what is taken of it is what was asked for, without the key.
func FuzzSearchResponse(f *testing.F) {
	for _, text := range []string{
		`{"hits":{"hits":[{"_score":1.5,"_source":{"id":"a","text":"b"}}]}}`, `{"timed_out":true}`, `{"_shards":{"failed":1},"hits":{"hits":[]}}`,
		`{"hits":{"hits":[null]}}`, `{"hits":{"hits":[{"_score":1e400,"_source":{}}]}}`, `{"count":-1}`, `{"hits":{"hits":[{"_score":1,"_source":{"id":1,"text":"` + servicetest.Key + `"}}]}}`, "", "[",
	} {
		f.Add([]byte(text))
	}
	s := &Service{service: &Settings{Page: "id", Text: "text"}, hidden: []service.Secret{servicetest.Key}}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := s.read(text)
		for _, p := range found {
			if strings.Contains(p.Text+p.Page, servicetest.Key) || p.score-p.score != 0 {
				t.Errorf("found %+v", p)
			}
		}
		if count := s.readCount(text); count == nil && s.pages < 0 {
			t.Errorf("%d pages", s.pages)
		}
		fault := func(status int, format string, args ...any) *service.Error {
			return &service.Error{Status: status, Reason: s.redact(fmt.Sprintf(format, args...))}
		}
		if got := s.accept(text, func([]byte) error { return err }, fault); (got == nil) != (err == nil) && !service.IsTruncated(text, err) || got != nil && strings.Contains(got.Error(), servicetest.Key) {
			t.Errorf("%v gives %v", err, got)
		}
	})
}
