package page

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/pipeline/report/figure"
)

// sample is a page with every kind of block, and with texts that would break a page that does not escape them.
func sample() *Page {
	wide := &Table{Title: "Wide", Caption: "A caption", Head: []Cell{{Text: "a_long_name", Word: true}}}
	row := []Cell{{Text: "always/this_pair", Word: true}}
	for i := range 14 {
		wide.Head = append(wide.Head, Cell{Text: "number_" + strconv.Itoa(i)})
		row = append(row, Cell{Text: "0.1234 [0.0001, 0.2345]", Bold: i == 3})
	}
	wide.Rows = [][]Cell{row, row}
	sorted := &Table{Head: []Cell{{Text: "name", Word: true}, {Text: "value"}, {Text: "text", Word: true, Long: true}}}
	for _, r := range [][3]string{{"b", "+10.5 [1, 2]", "<b>&amp;</b>"}, {"a", "-3", ""}, {"c", "9", strings.Repeat("long text ", 40)}} {
		sorted.Rows = append(sorted.Rows, []Cell{{Text: r[0], Word: true}, {Text: r[1]}, {Text: r[2], Word: true, Long: true}})
	}
	return &Page{
		Title: "<Title> & more", Kind: "kind", Warning: "warning",
		Answers: []Answer{{Good, "deploy \"this\""}, {Keep, "keep"}, {Unknown, "\x1b[31mred"}},
		Sections: []Section{
			{ID: "one", Title: "One", Blocks: []Block{{Table: wide}, {Table: sorted}, {List: []string{"<li>"}}}},
			{ID: "two", Title: "Two", Folded: true, Blocks: []Block{
				{Figure: &figure.Figure{Title: "<figure>", Note: "<note>", Body: &figure.Plot{Series: []figure.Series{{Name: "<s>", Points: []figure.Point{{X: 1, Y: 2}, {X: 2, Y: 3}}}}}}},
				{Album: &Album{Caption: "album", Groups: []Group{{Title: "g", Pictures: []Picture{{JPEG: []byte("x"), Alt: `"alt"`, Answer: "cat", Wrong: true}}}}}},
				{Terms: []Term{{"name", "</dd><script>alert(1)</script>"}}},
			}},
		},
	}
}

func written(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page loads nothing, and what comes from data stays text.
func TestPageIsSelfContained(t *testing.T) {
	text := written(t, sample())
	for _, bad := range []string{"<script src", "<link", "@import", "url(", "<?xml", "<Title>", "<b>&amp;</b>", "<li><li>", "alert(1)</script>", "\x1b", `alt=""alt`} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{
		"&lt;Title&gt; &amp; more", `class="answer good"`, `class="answer keep"`, `class="answer unknown"`, "<details id=\"two\">", "<title>&lt;figure&gt;</title>", "<figcaption>&lt;note&gt;</figcaption>",
		`fill="var(--s0)"`, "a_<wbr>long_<wbr>name", "0.1234 <wbr>[0.0001, 0.2345]", "data:image/jpeg;base64,eA==", "<s>cat</s>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<script>"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	urls := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1)
	for _, u := range urls {
		if !strings.HasPrefix(u[1], "#") && !strings.HasPrefix(u[1], "data:image/jpeg;base64,") {
			t.Errorf("the page refers to %q", u[1])
		}
	}
}

// The pieces of a text are the text.
func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"": {""}, "a": {"a"}, "_": {"_"}, "a_b/c": {"a_", "b/", "c"}, "1 [2, 3]": {"1 ", "[2, 3]"}, " [": {" ", "["}, "é/ü_": {"é/", "ü_"},
	} {
		if got := pieces(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A section alone is as on the page; bars and headings of rows are drawn.
func TestSectionAlone(t *testing.T) {
	s := Section{ID: "s", Title: "S", Blocks: []Block{{Table: &Table{Title: "<t>", Head: []Cell{{Text: "name"}}, Rows: [][]Cell{{{Text: "\x1b", Row: true}, {Text: "20%", Bar: 0.2}, {Text: "0%"}}}}}}}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(written(t, &Page{Sections: []Section{s}}), text) {
		t.Error("the section differs from that of a page")
	}
	for _, want := range []string{`aria-label="&lt;t&gt;"`, `<th scope="row">\x1b</th>`, `<rect width="100" height="10" fill="var(--line)"/><rect width="20.0" height="10"`, `</svg>20%</td><td>0%</td>`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// measure is added to the page by TestInChromium. It leaves what it sees in the title.
const measure = `<script>
const head = [...document.querySelectorAll("th button")].find(b => b.textContent === "value");
const column = () => [...head.closest("table").tBodies[0].rows].map(r => r.cells[0].textContent).join("");
const before = column();
head.click(); const up = column(); head.click(); const down = column();
location.hash = "#two";
setTimeout(() => { document.title = [document.documentElement.scrollWidth - document.documentElement.clientWidth, before, up, down, document.getElementById("two").open].join(" "); }, 50);
</script>`

// TestInChromium looks at the page in a browser: nothing is wider than the window, tables
// sort, links open folded sections, and on paper no word lies outside the page.
func TestInChromium(t *testing.T) {
	judge.Chromium(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(strings.Replace(written(t, sample()), "</body>", measure+"</body>", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := judge.Browser(t, append(args, "--virtual-time-budget=3000", "file://"+file)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, width := range []string{"500", "1280", "1920"} { // the browser has no narrower windows
		title := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(run("--window-size="+width+",900", "--dump-dom"))
		if want := "0 bac acb bca true"; title == nil || title[1] != want {
			t.Errorf("width %s: %q, want %q", width, title, want)
		}
	}
	printed := filepath.Join(dir, "page.pdf")
	run("--print-to-pdf="+printed, "--no-pdf-header-footer")
	words, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", printed, "-").Output()
	if err != nil {
		t.Skipf("pdftotext: %v", err)
	}
	checkPrinted(t, string(words))
}

// checkPrinted checks that all words of a printed page lie inside it, those of folded sections too.
func checkPrinted(t *testing.T, words string) {
	t.Helper()
	number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	page := regexp.MustCompile(`<page width="([\d.]+)"`).FindStringSubmatch(words)
	all := regexp.MustCompile(`<word xMin="([\d.-]+)"[^>]* xMax="([\d.]+)"[^>]*>([^<]*)`).FindAllStringSubmatch(words, -1)
	if page == nil || len(all) < 50 {
		t.Fatalf("%d words", len(all))
	}
	for _, w := range all {
		if number(w[1]) < 0 || number(w[2]) > number(page[1]) {
			t.Errorf("%q is at %s to %s, the page is %s wide", w[3], w[1], w[2], page[1])
		}
	}
	if !strings.Contains(words, "album") {
		t.Error("a folded section is not printed")
	}
}

// Figures can be seen in light, dark and print: each of their colours differs enough from the card, in the dark more
// because small markers there look fainter.
func TestColoursOfFigures(t *testing.T) {
	themes := regexp.MustCompile(`(?s):root \{.*?\}`).FindAllString(style, -1)
	if len(themes) != 3 {
		t.Fatalf("%d themes", len(themes))
	}
	luminance := func(hex string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v, err := strconv.ParseUint((hex + hex)[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			linear := float64(v) / 255 / 12.92
			if v > 10 {
				linear = math.Pow((float64(v)/255+0.055)/1.055, 2.4)
			}
			sum += weight * linear
		}
		return sum
	}
	for _, theme := range themes {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]+)`).FindAllStringSubmatch(theme, -1) {
			hex := m[2]
			if len(hex) == 3 {
				hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
			}
			colours[m[1]] = luminance(hex)
		}
		card, least := colours["card"], 3.0
		if card < 0.1 {
			least = 4
		}
		for _, name := range []string{"ink", "soft", "mark", "keep", "warn", "rest", "s0", "s1", "s2", "s3", "s4", "s5"} {
			v, ok := colours[name]
			if contrast := (max(v, card) + 0.05) / (min(v, card) + 0.05); !ok || contrast < least {
				t.Errorf("--%s has a contrast of %.2f with the card in %s", name, contrast, theme)
			}
		}
	}
}
