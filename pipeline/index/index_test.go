package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipe/experts/retrieval/bm25"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/pipeline/stage"
)

// pagesWanted is the size of a generated corpus: $PIPE_PAGES, else usual.
func pagesWanted(t testing.TB, usual int) int {
	text := os.Getenv("PIPE_PAGES")
	switch {
	case text == "" && testing.Short():
		return usual / 5
	case text == "":
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PIPE_PAGES: %v", err)
	}
	return n
}

func generatedPages(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	o := world.DefaultPagesOptions()
	o.Pages, o.Out, o.Seed = n, storage.File(dir), 1
	if _, err := world.GeneratePages(context.Background(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	return dir
}

func indexed(t testing.TB, dir string, s bm25.Settings) *bm25.Index {
	t.Helper()
	o := DefaultOptions()
	o.Pages, o.Out, o.Settings = storage.File(dir), storage.File(filepath.Join(t.TempDir(), "pages.bm25")), s
	if _, err := Run(context.Background(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	x, err := bm25.Open(o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// likeClaims draws queries of 8 to 10 words, each from the text of one page.
func likeClaims(t testing.TB, x *bm25.Index, n int) []string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var queries []string
	for range n {
		page, err := x.Page(r.IntN(x.Len()))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(page.Text)
		var query []string
		for range 8 + r.IntN(3) {
			query = append(query, words[r.IntN(len(words))])
		}
		queries = append(queries, strings.Join(query, " "))
	}
	return queries
}

// wordsOfPage needs no analyzer: generated texts are lower-case words and stops.
func wordsOfPage(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "." })
}

// TestGeneratedPagesAreFoundExactly scores every page for every query by the
// formula, in two passes over the corpus.
func TestGeneratedPagesAreFoundExactly(t *testing.T) {
	s := bm25.Settings{K1: 1.2, B: 0.75}
	x := indexed(t, generatedPages(t, pagesWanted(t, 20_000)), s)
	const top = 5
	queries := likeClaims(t, x, 200)
	df, total := map[string]int{}, 0
	for _, q := range queries {
		for _, w := range wordsOfPage(q) {
			df[w] = 0
		}
	}
	each := func(do func(page bm25.Page, counts map[string]int, length int)) {
		for n := range x.Len() {
			page, err := x.Page(n)
			if err != nil {
				t.Fatal(err)
			}
			words, counts := wordsOfPage(page.Text), map[string]int{}
			for _, w := range words {
				if _, ok := df[w]; ok {
					counts[w]++
				}
			}
			do(page, counts, len(words))
		}
	}
	each(func(_ bm25.Page, counts map[string]int, length int) {
		total += length
		for w := range counts {
			df[w]++
		}
	})
	best := make([][]bm25.Hit, len(queries))
	average, number := float64(total)/float64(x.Len()), 0
	each(func(page bm25.Page, counts map[string]int, length int) {
		norm := s.K1 * (1 - s.B + s.B*float64(length)/average)
		for i, q := range queries {
			score := 0.0
			for _, w := range wordsOfPage(q) {
				if tf := float64(counts[w]); tf > 0 {
					score += math.Log(1+(float64(x.Len())-float64(df[w])+0.5)/(float64(df[w])+0.5)) * tf / (tf + norm)
				}
			}
			if score > 0 && (len(best[i]) < top || score > best[i][top-1].Score) {
				best[i] = append(best[i][:min(len(best[i]), top-1)], bm25.Hit{Page: page.ID, Number: number, Score: score})
				slices.SortStableFunc(best[i], func(a, b bm25.Hit) int { return cmp.Compare(b.Score, a.Score) })
			}
		}
		number++
	})
	for i, q := range queries {
		hits, err := x.Search(q, top)
		if err != nil || len(hits) != len(best[i]) {
			t.Fatalf("%q: %v, %v", q, hits, err)
		}
		for k, h := range hits {
			want := best[i][k]
			if math.Abs(h.Score-want.Score) > 1e-9*want.Score || h.Page != want.Page && h.Score-want.Score != 0 && math.Abs(h.Score-want.Score) > 1e-12 {
				t.Errorf("%q: hit %d is %+v, want %+v", q, k, h, want)
			}
		}
	}
}

func TestFewerPagesLeaveNoOldFiles(t *testing.T) {
	o := world.DefaultPagesOptions()
	o.Out = storage.File(t.TempDir())
	for _, pages := range []int{50_001, 10} {
		o.Pages = pages
		r, err := world.GeneratePages(t.Context(), o, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(o.Out.String())
		if err != nil || len(files) != r.Files {
			t.Errorf("%d pages: %d files are there, %d were made (%v)", pages, len(files), r.Files, err)
		}
	}
}

func TestGeneratedPagesDoNotDependOnWorkers(t *testing.T) {
	pages, files := 120_000, []string{"wiki-001.jsonl", "wiki-002.jsonl", "wiki-003.jsonl"}
	if testing.Short() {
		pages, files = 60_000, files[:2]
	}
	var want map[string]string
	for _, workers := range []int{1, 3} {
		dir := t.TempDir()
		if _, err := world.GeneratePages(context.Background(), world.PagesOptions{Pages: pages, Seed: 3, Out: storage.File(dir), Workers: workers}, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, name := range files {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(b)
		}
		if want == nil {
			want = got
		}
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s depends on the number of workers", name)
			}
		}
	}
}

func BenchmarkIndexPages(b *testing.B) {
	n := pagesWanted(b, 20_000)
	dir := generatedPages(b, n)
	b.Run(fmt.Sprintf("pages=%d", n), func(b *testing.B) {
		for b.Loop() {
			o := DefaultOptions()
			o.Pages, o.Out = storage.File(dir), storage.File(filepath.Join(b.TempDir(), "x.bm25"))
			if _, err := Run(context.Background(), o, stage.Quiet); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "pages/s")
	})
}

func BenchmarkSearchPages(b *testing.B) {
	n := pagesWanted(b, 20_000)
	x := indexed(b, generatedPages(b, n), bm25.DefaultSettings())
	queries := likeClaims(b, x, 2000)
	debug.FreeOSMemory()
	for _, top := range []int{1, 5, 100} {
		b.Run(fmt.Sprintf("pages=%d/top=%d", n, top), func(b *testing.B) {
			b.ReportAllocs()
			var times []time.Duration
			var hits []bm25.Hit
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				var err error
				if hits, err = x.AppendHits(hits[:0], queries[i%len(queries)], top); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms/p99")
			b.ReportMetric(residentMB(), "MB-resident")
		})
	}
}

// residentMB is the process's resident memory, including mapped files.
func residentMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kB float64
	fmt.Sscan(rest, &kB)
	return kB / 1024
}
