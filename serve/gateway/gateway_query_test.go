package gateway

import (
	"net/http"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/serve/gateway/expert"
)

// An expert gets the query of its settings with every call, and the notes say how an address was mended, where it was.
func TestQueriesAndMendedAddresses(t *testing.T) {
	var sent string
	w := newWorld(t, func(s *Settings) {
		e := s.Experts["small"]
		e.BaseURL, e.Query = " "+e.BaseURL+"/chat/completions", map[string]string{"api-version": "2024-10-21"}
		s.Experts["small"] = e
		e = s.Experts["large"]
		e.BaseURL += "/"
		s.Experts["large"] = e
	})
	w.small.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool { sent = r.URL.RequestURI(); return false }
	if a := w.post(t, question+`}`); a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" || sent != "/v1/chat/completions?api-version=2024-10-21" {
		t.Errorf("%d %v, %s", a.status, a.header, sent)
	}
	notes := strings.Join(w.api.Notes(), "\n")
	if want := `base_url of the expert "small" was shortened to ` + w.small.Base() + "; the service is called at " + w.small.Base() + "/chat/completions?api-version=2024-10-21"; !strings.Contains(notes, want) || strings.Contains(notes, `expert "large" was`) {
		t.Errorf("notes %s", notes)
	}
}

// A date is a text, with and without quotes.
func TestQueryFromYAML(t *testing.T) {
	for _, value := range []string{"2024-10-21", `"2024-10-21"`} {
		s := DefaultSettings()
		text := `experts: {a: {base_url: "http://x", model: m, query: {api-version: ` + value + `}}}`
		if problems := config.Decode([]byte(text), storage.Location{}, func(string) (string, bool) { return "", false }, &s); len(problems) > 0 || s.Experts["a"].Query["api-version"] != "2024-10-21" {
			t.Errorf("%s: %v, %v", value, problems, s.Experts["a"].Query)
		}
	}
}

// A note says what became of an address, also where only a space was left out.
func TestShortenedAddresses(t *testing.T) {
	for base, want := range map[string]string{
		"http://x/v1 ": "http://x/v1", " http://x/v1/chat/completions": "http://x/v1", "http://x/v1/chat/completions/": "http://x/v1", "http://x/v1/": "", "http://x": "",
	} {
		if got := (&expert.Settings{BaseURL: base}).Shortened(); got != want {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
	}
}
