package people

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/serve/access"
)

// world is a server of people, with keys or without.
type world struct {
	*httptest.Server
	p *People
	c *clock
}

// keys are callers of a server with keys.
const (
	keyAna = "key-of-ana-0123456789"
	keyBen = "key-of-ben-0123456789"
	keyWeb = "key-of-web-0123456789"
	keyApp = "key-of-app-0123456789"
	keyOps = "key-of-ops-0123456789"
)

func newWorld(t testing.TB, withKeys bool) *world {
	t.Helper()
	c := newClock()
	w := &world{p: open(t, settings(t.TempDir()), c), c: c}
	mux := http.NewServeMux()
	w.p.Register(mux)
	s := access.DefaultSettings()
	if withKeys {
		s.Keys = []access.Key{{Name: "ana", Key: keyAna}, {Name: "ben", Key: keyBen}, {Name: "web", Key: keyWeb}, {Name: "app", Key: keyApp}, {Name: "ops", Key: keyOps, Admin: true}}
	}
	a, err := access.New(s, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = httptest.NewServer(a.Wrap(mux))
	t.Cleanup(w.Server.Close)
	return w
}

// answered is a response.
type answered struct {
	status int
	header http.Header
	text   string
	item   itemView
	code   string
}

func (w *world) ask(t testing.TB, method, path, body string, header ...string) answered {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := answered{status: res.StatusCode, header: res.Header, text: string(text)}
	var failed struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal(text, &failed) // a table is no JSON
	_ = json.Unmarshal(text, &out.item)
	out.code = failed.Error.Code
	return out
}

// TestHTTP: the life of an item over HTTP, with the statuses and retries.
func TestHTTP(t *testing.T) {
	w := newWorld(t, false)
	const body = `{"expert":"reviewer","question":{"text":"Is it so?"},"choices":["yes","no"],"tags":["de"]}`
	put := w.ask(t, "POST", "/v1/people/items", body, "Idempotency-Key", "row-7")
	if put.status != 201 || put.header.Get("Location") != "/v1/people/items/"+put.item.ID || put.item.State != "open" || put.item.Seconds != 60 {
		t.Fatal(put)
	}
	if again := w.ask(t, "POST", "/v1/people/items", body, "Idempotency-Key", "row-7"); again.status != 200 || again.item.ID != put.item.ID {
		t.Error(again)
	}
	at := "/v1/people/items/" + put.item.ID
	if a := w.ask(t, "POST", at+"/claim", ""); a.status != 400 || a.code != "nobody" {
		t.Error(a)
	}
	claim := w.ask(t, "POST", "/v1/people/claim", "", HeaderPerson, "ana")
	if claim.status != 200 || claim.item.ID != put.item.ID || claim.item.Claim.Token == "" {
		t.Fatal(claim)
	}
	if a := w.ask(t, "POST", "/v1/people/claim", "", HeaderPerson, "ben"); a.status != 204 {
		t.Error(a)
	}
	if a := w.ask(t, "GET", at, "", HeaderPerson, "ben"); a.status != 200 || a.item.Claim.Token != "" || a.item.Claim.Person != "ana" {
		t.Error("ben sees the token of ana:", a)
	}
	said := `{"claim":"` + claim.item.Claim.Token + `","answer":"yes","confidence":0.75}`
	for range 2 {
		if a := w.ask(t, "POST", at+"/answer", said, HeaderPerson, "ana"); a.status != 200 || a.item.Answer.Text != "yes" || *a.item.Answer.Confidence != 0.75 {
			t.Error(a)
		}
	}
	for body, want := range map[string]string{
		`{"claim":"x","answer":"yes"}`:                           "done",
		`{"claim":"x","answer":"perhaps"}`:                       "invalid_request",
		`{"claim":"x","answer":"yes","answer":"no"}`:             "invalid_request",
		`{"claim":"x","reply":"yes"}`:                            "invalid_request",
		`{"claim":"x","answer":"yes","confidence":2}`:            "invalid_request",
		`{"claim":"x","answer":"` + strings.Repeat("x", 600_000): "too_large",
	} {
		if a := w.ask(t, "POST", at+"/answer", body, HeaderPerson, "ana"); a.code != want {
			t.Errorf("%.60s: %d %s", body, a.status, a.text)
		}
	}
	table := w.ask(t, "GET", "/v1/people/answers", "")
	if want := "id,expert,advice,answer,seconds,confidence,person,time\nrow-7,reviewer,,yes,0.000,0.75,ana,2026-03-02T09:00:00Z\n"; table.text != want {
		t.Error(table.text)
	}
	if a := w.ask(t, "GET", "/v1/people/items/none", ""); a.status != 404 || a.code != "not_found" {
		t.Error(a)
	}
	if a := w.ask(t, "POST", "/v1/people/items", body, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); a.status != 403 {
		t.Error("a page of another site puts items:", a)
	}
}

// TestKeys: a key says who the person is; callers see their own items, people those that they may answer, operators all.
func TestKeys(t *testing.T) {
	w := newWorld(t, true)
	key := func(k string) []string { return []string{"Authorization", "Bearer " + k} }
	item := w.ask(t, "POST", "/v1/people/items", `{"expert":"chief","question":"?"}`, key(keyWeb)...).item
	at := "/v1/people/items/" + item.ID
	for k, want := range map[string]int{keyWeb: 200, keyApp: 404, keyAna: 200, keyBen: 404, keyOps: 200, "no-such-key-0123456": 401} {
		if a := w.ask(t, "GET", at, "", key(k)...); a.status != want {
			t.Errorf("%s: %d, not %d", k, a.status, want)
		}
	}
	for k, want := range map[string]int{keyWeb: 1, keyApp: 0, keyAna: 1, keyBen: 0, keyOps: 1} {
		var list struct{ Items []itemView }
		if err := json.Unmarshal([]byte(w.ask(t, "GET", "/v1/people/items", "", key(k)...).text), &list); err != nil || len(list.Items) != want {
			t.Errorf("%s sees %d items, %v", k, len(list.Items), err)
		}
	}
	if a := w.ask(t, "POST", at+"/claim", "", append(key(keyAna), HeaderPerson, "ben")...); a.status != 403 {
		t.Error("ana acts for ben:", a)
	}
	if a := w.ask(t, "POST", at+"/claim", "", key(keyWeb)...); a.status != 403 || a.code != "nobody" {
		t.Error(a)
	}
	if a := w.ask(t, "DELETE", at, "", key(keyAna)...); a.status != 403 {
		t.Error(a)
	}
	if a := w.ask(t, "GET", "/v1/people/answers", "", key(keyAna)...); a.status != 403 {
		t.Error(a)
	}
	if a := w.ask(t, "DELETE", at, "", key(keyWeb)...); a.status != 200 || a.item.State != "withdrawn" {
		t.Error(a)
	}
	for k, want := range map[string]int{keyWeb: 0, keyAna: 1, keyOps: 3} {
		var s Status
		if err := json.Unmarshal([]byte(w.ask(t, "GET", "/v1/people", "", key(k)...).text), &s); err != nil || len(s.People) != want || len(s.Experts) != 2 {
			t.Errorf("%s: %+v, %v", k, s, err)
		}
	}
	page := w.ask(t, "GET", "/people/", "", key(keyAna)...)
	if page.status != 200 || !strings.Contains(page.text, `data-person="ana"`) || strings.Contains(page.text, "ben") || !strings.Contains(page.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error(page.text, page.header)
	}
	if a := w.ask(t, "GET", "/people/page.js", ""); a.status != 200 {
		t.Error("the script needs a key:", a)
	}
}

// TestTogether: many people, callers and reloads at once. Every question is answered once.
func TestTogether(t *testing.T) {
	s := killSettings(t.TempDir())
	s.Queue = 1000
	p, err := Open(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const callers, each = 6, 20
	var all sync.WaitGroup
	var answered atomic.Int32
	done := make(chan struct{})
	for range 3 { // of one person: several pages
		for _, name := range []string{"ana", "ben"} {
			all.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					i, found, err := p.ClaimNext(name)
					if !found || err != nil {
						continue
					}
					if _, err := p.Answer(i.ID, name, i.Claim.Token, Said{Text: "of " + name}); err == nil {
						answered.Add(1)
					} else if code(err) != "done" { // another page of the person was faster
						t.Error(err)
					}
				}
			})
		}
	}
	var putting sync.WaitGroup
	putting.Go(func() {
		for range each {
			if err := p.Reload(s); err != nil {
				t.Error(err)
			}
		}
	})
	for range callers {
		putting.Go(func() {
			for range each {
				if _, _, err := p.Put(New{Expert: "reviewer", Question: json.RawMessage("1")}); err != nil {
					t.Error(err)
				}
				p.Ask(nil)(actions())
				p.Status()
			}
		})
	}
	putting.Wait()
	for len(p.Answers()) < callers*each {
		time.Sleep(time.Millisecond)
	}
	close(done)
	all.Wait()
	if n := int(answered.Load()); n < callers*each {
		t.Errorf("%d answers were confirmed of %d", n, callers*each)
	}
}
