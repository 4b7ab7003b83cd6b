package people

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
)

// drive answers questions on the page in a frame, by keys alone, leaves one that was withdrawn meanwhile, and sends what it saw.
const drive = `
const frame = document.createElement("iframe");
const wait = async (what, test) => { for (const end = Date.now() + 60000; end > Date.now();) { const v = test(); if (v) return v; await new Promise(r => setTimeout(r, 50)); } throw new Error("no " + what + ": " + frame.contentDocument.getElementById("said").textContent); };
// contrast of the color of an element and what is behind it, by WCAG 2.2
const rgb = text => text.match(/[\d.]+/g).map(Number);
const light = c => c.slice(0, 3).map(v => v / 255).map(v => v > .03928 ? ((v + .055) / 1.055) ** 2.4 : v / 12.92).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
const behind = (e, w) => { for (; e; e = e.parentElement) { const c = rgb(w.getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > .99) return c; } return [255, 255, 255]; };
const contrast = (e, w) => { const [a, b] = [light(rgb(w.getComputedStyle(e).color)), light(behind(e, w))].sort((x, y) => y - x); return (a + .05) / (b + .05); };
const report = text => fetch("/report", { method: "POST", body: text });
frame.addEventListener("load", async () => {
  try {
    const w = frame.contentWindow, d = frame.contentDocument, text = id => d.getElementById(id).textContent;
    const press = (key, more) => d.activeElement.dispatchEvent(new w.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
    const person = d.getElementById("person");
    person.value = "ana"; person.dispatchEvent(new w.Event("change")); person.blur();
    await wait("list", () => text("count") === "3 questions wait" && d.querySelectorAll("#list button").length === 3);
    press("n");
    await wait("question", () => !d.getElementById("item").hidden);
    const first = text("question"), focus = d.activeElement.id, raw = d.querySelector("#question b");
    const wide = d.documentElement.scrollWidth - d.documentElement.clientWidth, width = w.innerWidth;
    const faint = [...d.querySelectorAll("h1, h2, p, button, label, legend, dd, kbd, .note, #question div")].filter(e => e.textContent.trim() && e.offsetParent && 4.5 > contrast(e, w)).map(e => e.id || e.tagName).join("+");
    const unlabelled = [...d.querySelectorAll("input, select, textarea")].filter(e => !e.labels?.length && !e.getAttribute("aria-label")).length;
    press("Enter", { ctrlKey: true });
    await wait("warning", () => text("said") === "There is no answer yet.");
    press("2"); press("Enter", { ctrlKey: true });
    await wait("answer", () => text("count") === "2 questions wait" && d.getElementById("item").hidden);
    press("j"); press("j");
    const at = [...d.querySelectorAll("#list button")].indexOf(d.activeElement);
    d.activeElement.click();
    await wait("second", () => !d.getElementById("item").hidden);
    press("b");
    await wait("back", () => d.getElementById("item").hidden && text("count") === "2 questions wait");
    press("n");
    await wait("third", () => !d.getElementById("item").hidden);
    d.getElementById("text").value = "So it is."; d.getElementById("confidence").value = "80"; d.getElementById("send").click();
    await wait("end", () => text("count") === "1 question waits" && d.getElementById("item").hidden);
    press("n");
    await wait("fourth", () => !d.getElementById("item").hidden);
    const last = (await (await w.fetch("/v1/people/items")).json()).items[0].id;
    await w.fetch("/v1/people/items/" + last, { method: "DELETE" });
    d.getElementById("text").value = "Too late."; press("Enter", { ctrlKey: true });
    await wait("refusal", () => text("said").includes("withdrawn") && !d.getElementById("item").hidden);
    press("b");
    await wait("exit", () => text("count") === "0 questions wait" && d.getElementById("item").hidden);
    const outline = w.getComputedStyle(d.getElementById("next")).outlineStyle;
    const dark = w.matchMedia("(prefers-color-scheme: dark)").matches;
    report(["width", width, "wide", wide, "focus", focus, "row", at, "raw", raw, "faint", faint || "none", "unlabelled", unlabelled, dark ? "dark" : "light", JSON.stringify(first)].join(" "));
  } catch (err) { report("error: " + err.message); }
});
Object.assign(frame, { src: "/people/", width: document.currentScript.dataset.width, height: 800, style: "border: 0" });
document.body.append(frame);
`

// TestInChromium answers questions on the page in a browser: on a phone in light, and on a wide screen in dark.
func TestInChromium(t *testing.T) {
	judge.Chromium(t)
	for _, as := range []struct {
		scheme string
		width  int
	}{{"light", 390}, {"dark", 1280}} {
		w := newWorld(t, false)
		for _, n := range []New{
			{Expert: "reviewer", Question: json.RawMessage(`{"messages":[{"role":"user","content":"Is <b>this</b> so?"}]}`), Choices: []string{"yes", "no"}},
			{Expert: "chief", Question: json.RawMessage(`{"text":"` + "Averylongwordwithoutanyspace" + `Averylongwordwithoutanyspace and more words"}`)},
			{Expert: "reviewer", Question: json.RawMessage(`[1,2]`), Tags: []string{"de"}},
		} {
			put(t, w.p, n)
		}
		got := w.seen(t, as.width, as.scheme == "dark")
		want := fmt.Sprintf(`width %d wide 0 focus item-title row 1 raw  faint none unlabelled 0 %s "userIs <b>this</b> so?"`, as.width, as.scheme)
		if got != want {
			t.Errorf("%s\nwant: %s", got, want)
		}
		answers := w.p.Answers()
		if len(answers) != 2 || answers[0].Answer.Text != "no" || answers[1].Answer.Text != "So it is." || answers[1].Answer.Confidence == nil || *answers[1].Answer.Confidence != 0.8 {
			t.Errorf("%s: %+v", as.scheme, answers)
		}
	}
}

// seen shows the page in a frame, since a browser without a window has none that is narrow, and returns what drive saw. The browser
// runs until then, however long that takes on a busy machine.
func (w *world) seen(t *testing.T, width int, dark bool) string {
	reports := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/frame":
			to.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(to, `<!doctype html><body><script src="/drive.js" data-width="%d" defer></script></body>`, width)
			return
		case "/drive.js":
			to.Header().Set("Content-Type", "text/javascript")
			_, _ = to.Write([]byte(drive))
			return
		case "/report":
			text, _ := io.ReadAll(r.Body)
			reports <- string(text)
			return
		}
		answer := httptest.NewRecorder()
		w.Config.Handler.ServeHTTP(answer, r)
		for key, values := range answer.Header() {
			to.Header()[key] = values
		}
		to.Header().Del("X-Frame-Options")
		policy := to.Header().Get("Content-Security-Policy")
		to.Header().Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "", 1))
		to.WriteHeader(answer.Code)
		_, _ = to.Write(answer.Body.Bytes())
	}))
	defer s.Close()
	args := []string{"--window-size=1400,900"}
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	defer judge.Window(t, s.URL+"/frame", args...)()
	select {
	case seen := <-reports:
		return seen
	case <-time.After(4 * time.Minute):
		return "nothing"
	}
}
