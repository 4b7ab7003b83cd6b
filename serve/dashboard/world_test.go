package dashboard

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

const dim = 6

// world is a server of the page with policies: any (of any price), fixed, and hostile, whose names are markup.
type world struct {
	*httptest.Server
	collector *Collector
	decider   *decision.Decider
	random    *rand.Rand
}

// hostile is a name that breaks a page that does not escape it.
const hostile = `<script>alert(1)</script>"'&`

func newWorld(t testing.TB, change func(*Sources)) *world {
	t.Helper()
	dir := t.TempDir()
	bad := decidetest.AnyPrice(dim)
	bad.Actions.Experts[0].Name, bad.Actions.Advice[1].Name = hostile, "\x1b[31mred\u202e"
	for name, p := range map[string]*policy.Policy{"any": decidetest.AnyPrice(dim), "fixed": decidetest.Policy(dim, 4), "hostile": bad} {
		if err := os.Rename(decidetest.WritePolicy(t, p), filepath.Join(dir, name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	encoder := filepath.Join(t.TempDir(), "encoder.json")
	if err := decidetest.WriteTable(encoder); err != nil {
		t.Fatal(err)
	}
	table := costs.FeatureSource{Name: "groups base", Dim: decidetest.TableDim}
	if err := decidetest.WriteEncoderPolicy(filepath.Join(dir, "table.onnx"), decidetest.TableDim, table, ""); err != nil {
		t.Fatal(err)
	}
	s := policies.DefaultSettings()
	s.Encoders = map[string]string{"table": encoder}
	s.Paths, s.Default, s.Poll = []string{dir}, "any", 0
	set, err := policies.Open(t.Context(), s, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	w := &world{collector: NewCollector(DefaultSettings()), random: rand.New(rand.NewPCG(1, 9))}
	settings := decision.DefaultSettings()
	settings.Explore.Epsilon = 0.2
	if w.decider, err = decision.New(set, nil, nil, slog.New(slog.DiscardHandler), settings); err != nil {
		t.Fatal(err)
	}
	w.decider.Observe(w.collector)
	t.Cleanup(func() { _ = w.decider.Close() })
	from := Sources{Collector: w.collector, Policies: set, Version: "1.2.3"}
	if change != nil {
		change(&from)
	}
	mux := http.NewServeMux()
	New(from).Register(mux)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

// decide makes decisions, of which every second has an outcome.
func (w *world) decide(t testing.TB, name string, n int) {
	t.Helper()
	for i := range n {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32(w.random.NormFloat64())
		}
		r, err := w.decider.Decide(t.Context(), decision.Request{Policy: name, Inputs: policies.Inputs{Features: x}, Source: decision.SourceDecide})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		w.collector.Request("decide", 200, time.Millisecond)
		if rec := r.Records[0]; i%2 == 0 {
			loss := 0.5 + 0.2*w.random.NormFloat64()
			if rec.ExpectedLoss != nil {
				loss += float64(rec.ExpectedLoss[rec.Action]) - 0.5
			}
			w.collector.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &loss})
		}
	}
}

// get returns the body of an answer with the status.
func (w *world) get(t testing.TB, path string, status int) string {
	t.Helper()
	answer, err := w.Client().Get(w.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, answer, status)
}

func bodyOf(t testing.TB, answer *http.Response, status int) string {
	t.Helper()
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status {
		t.Fatalf("%s %s: %s: %s", answer.Request.Method, answer.Request.URL, answer.Status, b)
	}
	policy := answer.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: headers %v", answer.Request.URL, answer.Header)
	}
	return string(b)
}

// texts returns the texts of all elements of the kind, and checks that the page is well-formed: what the parser makes of
// it has every id once, and every label, link and description finds what it is for.
func texts(t *testing.T, page, kind string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ids, wanted := map[string]int{}, map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				ids[a.Val]++
			case "for", "aria-describedby":
				wanted[a.Val] = true
			case "href":
				if strings.HasPrefix(a.Val, "#") {
					wanted[a.Val[1:]] = true
				}
			case "style":
				t.Errorf("<%s> has a style, which the policy of the page forbids", n.Data)
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has %s", n.Data, a.Key)
			}
		}
		if n.Type == html.ElementNode && n.Data == kind {
			out = append(out, textOf(n))
		}
		if n.Type == html.ElementNode && n.Data == "script" && n.FirstChild != nil {
			t.Errorf("a script in the page: %q", textOf(n))
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %q", n, id)
		}
	}
	for id := range wanted {
		if ids[id] == 0 {
			t.Errorf("nothing has the id %q", id)
		}
	}
	return out
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// Every tag that is opened is closed, in order: the parser of the test above mends pages silently.
func balanced(t *testing.T, page string) {
	t.Helper()
	z, open := html.NewTokenizer(strings.NewReader(page)), []string(nil)
	void := map[string]bool{"meta": true, "link": true, "input": true, "wbr": true, "br": true, "img": true}
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF || len(open) > 0 {
				t.Errorf("%v, open %q", z.Err(), open)
			}
			return
		case html.StartTagToken:
			if tag, _ := z.TagName(); !void[string(tag)] {
				open = append(open, string(tag))
			}
		case html.EndTagToken:
			tag, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(tag) {
				t.Fatalf("</%s> closes %q", tag, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func contains(t *testing.T, all []string, want ...string) {
	t.Helper()
	text := strings.Join(all, "\n")
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not among\n%s", w, text)
		}
	}
}
