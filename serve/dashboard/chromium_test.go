package dashboard

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pipe/internal/judge"
)

// measure looks at the page in the browser: it waits for a refresh, moves a slider, tries a row, and leaves what it saw in
// the title.
const measure = `
const wait = async (what, test) => { for (let i = 0; 100 > i; i++) { const v = test(); if (v) return v; await new Promise(r => setTimeout(r, 100)); } throw new Error("no " + what); };
const text = selector => document.querySelector(selector)?.textContent || "";
(async () => {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const sliders = [...document.querySelectorAll("#price-form input[type=range]")];
  const requests = parseInt(text("#traffic dd"));
  await wait("refresh", () => parseInt(text("#traffic dd")) === requests + 20 && text("#fresh"));
  const before = text("#frontier tbody tr td:nth-of-type(1)");
  sliders[0].value = 8; sliders[0].dispatchEvent(new Event("input"));
  const after = await wait("frontier", () => { const now = text("#frontier tbody tr td:nth-of-type(1)"); return now !== before && !document.querySelector(".busy") && now; });
  document.getElementById("kind-of-input").value = "recent";
  document.querySelector("#try-form button").click();
  await wait("try", () => text("#tried li"));
  const unlabelled = [...document.querySelectorAll("input:not([type=hidden]), select, textarea")].filter(e => !e.labels?.length && !e.getAttribute("aria-label")).length;
  document.title = ["wide", wide, "sliders", sliders.length, before, after, "unlabelled", unlabelled, text("#lost") || "alive"].join(" ");
})().catch(err => { document.title = "error: " + err.message; });
`

// TestInChromium looks at the page in a browser, with its script and without.
func TestInChromium(t *testing.T) {
	judge.Chromium(t)
	w := newWorld(t, nil)
	w.decide(t, "any", 40)
	measured := w.changed(t, func(body []byte, _ http.Header) []byte {
		return bytes.Replace(body, []byte("</body>"), []byte(`<script src="/page/measure.js" defer></script></body>`), 1)
	})
	dir := t.TempDir()
	run := func(address string, args ...string) string {
		out, err := judge.Browser(t, append(args, "--virtual-time-budget=20000", address)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, width := range []string{"500", "1280"} { // the browser has no narrower windows
		title := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(run(measured.URL, "--dump-dom", "--window-size="+width+",900"))
		if title == nil || !regexp.MustCompile(`^wide 0 sliders 6 \S+ \S+ unlabelled 0 alive$`).MatchString(title[1]) {
			t.Errorf("width %s: %q", width, title)
		}
	}
	plain := w.changed(t, func(body []byte, h http.Header) []byte { // a browser runs no scripts of a page in a sandbox
		h.Set("Content-Security-Policy", "sandbox; "+h.Get("Content-Security-Policy"))
		return body
	})
	printed := filepath.Join(dir, "page.pdf")
	p := w.collector.State(15).Policies[0]
	run(plain.URL, "--print-to-pdf="+printed, "--no-pdf-header-footer")
	if _, err := os.Stat(printed); err != nil {
		t.Fatal(err)
	}
	words, err := exec.CommandContext(t.Context(), "pdftotext", "-raw", printed, "-").Output()
	if err != nil {
		t.Skipf("pdftotext: %v", err)
	}
	text := strings.Join(strings.Fields(string(words)), " ") // where lines break depends on the fonts of the machine
	for _, want := range []string{"80 in the last 15 minutes", "Without a script this page", "always this pair", costOr(p.Costs.ExpectedCost), interval(p.Costs.MeasuredCost)} {
		if !strings.Contains(text, want) {
			t.Errorf("without a script, %q is not on the printed page:\n%s", want, words)
		}
	}
}

// changed serves the same page, changed. Twenty more decisions are made after the page was sent, so that a refresh has
// something to show.
func (w *world) changed(t *testing.T, change func(body []byte, h http.Header) []byte) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page/measure.js" {
			to.Header().Set("Content-Type", "text/javascript")
			_, _ = to.Write([]byte(measure))
			return
		}
		answer := httptest.NewRecorder()
		w.Config.Handler.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if r.URL.Path == "/" {
			body = change(body, answer.Header())
		}
		for key, values := range answer.Header() {
			to.Header()[key] = values
		}
		to.WriteHeader(answer.Code)
		_, _ = to.Write(body)
		if r.URL.Path == "/" {
			w.decide(t, "any", 20)
		}
	}))
	t.Cleanup(s.Close)
	return s
}
