package bm25

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/retrieval/pagename"
	"pipe/internal/storage"
)

// written writes pages as a folder of files of the official format.
func written(t testing.TB, files int, pages []Page) string {
	t.Helper()
	dir := t.TempDir()
	text := make([]strings.Builder, files)
	for i, p := range pages {
		b, err := json.Marshal(map[string]string{"id": p.ID, "text": p.Text, "lines": "0\t" + p.Text})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text[i%files], "%s\n", b)
	}
	for i := range text {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("wiki-%03d.jsonl", i+1)), []byte(text[i].String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// randomPages draws pages of few words, so that scores are often equal.
func randomPages(r *rand.Rand, n, words int) []Page {
	pages := make([]Page, n)
	for i := range pages {
		var text []string
		for range 1 + r.IntN(30) {
			text = append(text, fmt.Sprintf("w%d", int(float64(words)*math.Pow(r.Float64(), 4))))
		}
		pages[i] = Page{ID: fmt.Sprintf("page_%d_-LRB-%d-RRB-", r.IntN(10), i), Text: strings.Join(text, " ")}
	}
	return pages
}

func built(t testing.TB, o BuildOptions) *Index {
	t.Helper()
	if o.Out.IsZero() {
		o.Out = storage.File(filepath.Join(t.TempDir(), "pages.bm25"))
	}
	if _, err := Build(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	x, err := Open(o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// reference scores every page by the formula of the package.
type reference struct {
	settings Settings
	pages    []Page // sorted by id
	counts   []map[string]int
	lengths  []int
	df       map[string]int
	average  float64
}

func newReference(pages []Page, s Settings) *reference {
	f := &reference{settings: s, pages: slices.Clone(pages), df: map[string]int{}}
	slices.SortFunc(f.pages, func(a, b Page) int { return cmp.Compare(a.ID, b.ID) })
	total := 0
	for _, p := range f.pages {
		text := strings.Repeat(pagename.Title(p.ID)+" ", s.Title) + p.Text
		counts, length := map[string]int{}, 0
		(&analyzer{settings: s}).words([]byte(text), func(w []byte) { counts[string(w)]++; length++ })
		for w := range counts {
			f.df[w]++
		}
		f.counts, f.lengths = append(f.counts, counts), append(f.lengths, length)
		total += length
	}
	f.average = float64(total) / float64(len(f.pages))
	return f
}

func (f *reference) search(query string, top int) []Hit {
	var words []string
	times := map[string]int{}
	(&analyzer{settings: f.settings}).words([]byte(query), func(w []byte) {
		if times[string(w)]++; times[string(w)] == 1 {
			words = append(words, string(w))
		}
	})
	n := float64(len(f.pages))
	var hits []Hit
	for i, p := range f.pages {
		score := 0.0
		for _, w := range words {
			tf, df := float64(f.counts[i][w]), float64(f.df[w])
			if tf == 0 {
				continue
			}
			idf := math.Log(1 + (n-df+0.5)/(df+0.5))
			norm := f.settings.K1*(1-f.settings.B) + float64(f.settings.K1*f.settings.B/f.average*float64(f.lengths[i]))
			score += float64(float64(times[w]) * idf * (tf / (tf + norm)))
		}
		if score > 0 {
			hits = append(hits, Hit{p.ID, i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(top, len(hits))]
}

// agree compares hits, scores to the last bit.
func agree(t *testing.T, query string, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q: %d hits, want %d", query, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%q: hit %d is %+v, want %+v", query, i, got[i], want[i])
		}
	}
}

func TestSearchEqualsTheFormula(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []Settings{DefaultSettings(), {K1: 1.2, B: 0.75, Title: 3}, {K1: 2, B: 1}, {K1: 0.1, B: 0, Stem: true}} {
		for _, words := range []int{5, 60, 4000} {
			if testing.Short() && words != 60 {
				continue
			}
			pages := randomPages(r, 3000, words)
			x, f := built(t, BuildOptions{Pages: storage.File(written(t, 3, pages)), Settings: s}), newReference(pages, s)
			for range 60 {
				var query []string
				for range 1 + r.IntN(9) {
					query = append(query, fmt.Sprintf("w%d", int(float64(words)*math.Pow(r.Float64(), 3))))
				}
				text, top := strings.Join(query, " "), []int{1, 5, 40, 5000}[r.IntN(4)]
				got, err := x.Search(text, top)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, text, got, f.search(text, top))
			}
		}
	}
}

// Neither the number of workers, nor the runs, nor the order and number of the
// lines' files change what is found; the first two do not change a byte.
func TestTheBytesDoNotDependOnTheWork(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pages := randomPages(r, 4000, 500)
	dir := written(t, 4, pages)
	var want []byte
	for _, o := range []BuildOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Memory: 100_000}, {Workers: 1, Memory: 1}} {
		o.Pages, o.Out, o.Settings = storage.File(dir), storage.File(filepath.Join(t.TempDir(), "x")), DefaultSettings()
		s, err := Build(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(o.Out.String())
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("workers %d, memory %d, %d runs: the bytes differ", o.Workers, o.Memory, s.Runs)
		}
		if left, _ := filepath.Glob(o.Out.Dir().Join(".*").String()); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	x, y := built(t, BuildOptions{Pages: storage.File(dir), Settings: DefaultSettings()}), built(t, BuildOptions{Pages: storage.File(written(t, 1, pages)), Settings: DefaultSettings()})
	for _, query := range []string{"w1 w2 w3", "w40 w7", "w300"} {
		a, err := x.Search(query, 20)
		if err != nil {
			t.Fatal(err)
		}
		b, err := y.Search(query, 20)
		if err != nil || !slices.Equal(a, b) {
			t.Errorf("%q: %v, %v and %v", query, a, b, err)
		}
	}
}

func TestPages(t *testing.T) {
	pages := []Page{{"B_-LRB-film-RRB-", "A text -LRB- of 2010 -RRB- -COLON- yes ."}, {"A", ""}, {"é", "Ünïcode"}, {"A1", "x"}}
	x := built(t, BuildOptions{Pages: storage.File(written(t, 2, pages)), Settings: DefaultSettings()})
	if h := x.Header(); h.Pages != 3 || h.Skipped != 1 || x.Len() != 3 {
		t.Errorf("header %+v", h)
	}
	want := []Page{{"A1", "x"}, {"B_-LRB-film-RRB-", "A text ( of 2010 ) : yes ."}, {"é", "Ünïcode"}}
	for i, w := range want {
		if p, err := x.Page(i); err != nil || p != w {
			t.Errorf("page %d is %q, %v", i, p, err)
		}
		if n, found, err := x.Find(w.ID); n != i || !found || err != nil {
			t.Errorf("%q: %d, %v, %v", w.ID, n, found, err)
		}
	}
	if _, found, err := x.Find("nobody"); found || err != nil {
		t.Errorf("found nobody, %v", err)
	}
	for query, page := range map[string]string{"the film": "B_-LRB-film-RRB-", "ÜNÏCODE!": "é", "a1": "A1", "nothing": "", "": ""} {
		hits, err := x.Search(query, 1)
		if err != nil || (page == "") != (len(hits) == 0) || len(hits) == 1 && hits[0].Page != page {
			t.Errorf("%q: %v, %v", query, hits, err)
		}
	}
	if _, err := x.Page(3); err == nil {
		t.Error("there is a page 3")
	}
}

func TestCodec(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for width := range 33 {
		values := make([]uint32, 1+r.IntN(blockLen))
		for i := range values {
			values[i] = uint32(r.Uint64N(1 << width))
		}
		packed := appendPacked(nil, values, width)
		if len(packed) != packedLen(len(values), width) {
			t.Errorf("width %d: %d bytes, not %d", width, len(packed), packedLen(len(values), width))
		}
		got := make([]uint32, len(values))
		unpack(got, append(packed, make([]byte, slack)...), width)
		if !slices.Equal(got, values) {
			t.Errorf("width %d: %v, want %v", width, got, values)
		}
	}
}
