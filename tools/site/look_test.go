package site_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
)

// look opens every page in a frame, on a telephone and on a desk, and then searches. It sends what it saw to the test.
const look = `<!doctype html><body><iframe id="frame" style="height: 800px; border: 0"></iframe><script type="module">
const seen = { wide: [], pages: 0, found: "" };
const open = url => new Promise(done => { frame.onload = done; frame.src = url; });
const pages = await (await fetch("/pages.json")).json();
for (const page of pages) {
	frame.style.width = "390px";
	await open(page);
	for (const width of [390, 1280]) {
		frame.style.width = width + "px";
		const e = frame.contentDocument.documentElement;
		if (e.scrollWidth > e.clientWidth) seen.wide.push(page + " at " + width + ": " + e.scrollWidth);
	}
	seen.pages++;
}
await open("index.html");
const box = frame.contentDocument.querySelector("pagefind-searchbox");
for (let tries = 0; tries < 200 && !seen.found; tries++) {
	const input = box.querySelector("input");
	if (input && !input.value) { input.focus(); input.value = "libjpeg-turbo"; input.dispatchEvent(new Event("input", { bubbles: true })); }
	await new Promise(done => setTimeout(done, 100));
	seen.found = box.querySelector("a")?.getAttribute("href") ?? "";
}
await fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
</script>`

// lookAt opens the site in a browser: no page is wider than its window, and the search finds a page by its words.
func lookAt(t *testing.T, site string, all map[string]string) {
	judge.Chromium(t)
	pages := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return path.Ext(name) != ".html" })
	var seen struct {
		Wide  []string
		Pages int
		Found string
	}
	answered := make(chan error, 1)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(site)))
	mux.HandleFunc("/look", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(look))
	})
	mux.HandleFunc("/pages.json", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(pages) })
	mux.HandleFunc("/seen", func(_ http.ResponseWriter, r *http.Request) { answered <- json.NewDecoder(r.Body).Decode(&seen) })
	server := httptest.NewServer(mux)
	defer server.Close()

	defer judge.Window(t, server.URL+"/look")()
	select {
	case err := <-answered:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the browser did not answer in two minutes")
	}
	for _, page := range seen.Wide {
		t.Errorf("wider than the window: %s", page)
	}
	if seen.Pages != len(pages) {
		t.Errorf("%d of %d pages were seen", seen.Pages, len(pages))
	}
	if found, _, _ := strings.Cut(strings.TrimPrefix(seen.Found, "/"), "#"); !strings.Contains(all[found], "libjpeg-turbo") {
		t.Errorf("the search for a word found %q", seen.Found)
	}
}
