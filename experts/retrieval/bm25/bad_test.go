package bm25

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

func TestBadPages(t *testing.T) {
	good := `{"id": "A", "text": "x y", "lines": ""}` + "\n"
	for want, text := range map[string]string{
		`line 2: is not a page`:                                              good + `{"id": "B", "text"` + "\n",
		`line 4: is not a page`:                                              good + "\n\n" + `{"id": 7, "text": "x"}`,
		`line 1: the page has no id`:                                         `{"text": "x"}`,
		`line 1: the page has no text`:                                       `{"id": "x"}`,
		`line 1: the page has text and an empty id`:                          `{"id": "", "text": "x"}`,
		`line 2: is not a page: is not UTF-8`:                                good + "{\"id\": \"\xff\", \"text\": \"x\"}",
		`line 3: duplicate page "A", first in line 1 of`:                     good + "\n" + good,
		`has no page with text (2 are empty)`:                                `{"id": "", "text": ""}` + "\n" + `{"id": "A", "text": "  "}`,
		`line 2: is not a page: a JSON object is expected, not a JSON array`: good + "[1]",
		`line 1: is not a page: field "id" cannot be a JSON number`:          `{"id": 7, "text": "x"}`,
	} {
		path := filepath.Join(t.TempDir(), "pages.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "x.bm25")
		_, err := Build(context.Background(), BuildOptions{Pages: storage.File(path), Out: storage.File(out), Settings: DefaultSettings()})
		var bad *PageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.File != path {
			t.Errorf("got %v, want %q", err, want)
		}
		if left, _ := os.ReadDir(filepath.Dir(out)); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
	if _, err := Build(context.Background(), BuildOptions{Pages: storage.File(t.TempDir()), Out: storage.File("x"), Settings: DefaultSettings()}); err == nil || !strings.Contains(err.Error(), "has no .jsonl file") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Build(context.Background(), BuildOptions{Pages: storage.File("x"), Out: storage.File("x"), Settings: Settings{B: 2}}); err == nil || !strings.Contains(err.Error(), "k1 is 0") || !strings.Contains(err.Error(), "b is 2") {
		t.Errorf("bad settings: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Build(ctx, BuildOptions{Pages: storage.File(written(t, 1, []Page{{"A", "x"}})), Out: storage.File(filepath.Join(t.TempDir(), "x")), Settings: DefaultSettings()}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// The same bad pages give the same error, whoever reads them first.
func TestTheFirstBadPageIsNamed(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		if i == 41_000 || i > 41_500 && i%50 == 0 {
			text.WriteString("broken\n")
			continue
		}
		fmt.Fprintf(&text, `{"id": "P%d", "text": "some words of page %d"}`+"\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "pages.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		_, err := Build(context.Background(), BuildOptions{Pages: storage.File(path), Out: storage.File(filepath.Join(t.TempDir(), "x")), Settings: DefaultSettings(), Workers: 4})
		var bad *PageError
		if !errors.As(err, &bad) || bad.Line != 41_001 {
			t.Fatalf("got %v", err)
		}
	}
}

// sampleIndex is the bytes of an index whose sections have several chunks.
func sampleIndex(t testing.TB) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	out := filepath.Join(t.TempDir(), "x")
	if _, err := Build(context.Background(), BuildOptions{Pages: storage.File(written(t, 1, randomPages(r, 1500, 300))), Out: storage.File(out), Settings: DefaultSettings()}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func opened(t testing.TB, b []byte) (*Index, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return Open(path)
}

var sampleQueries = []string{"w1 w2 w3 w4", "w250 w10", "page 3"}

// A file that is cut short, grown, of another version, or of another kind is
// found out when it is opened.
func TestOpenFindsOut(t *testing.T) {
	whole := sampleIndex(t)
	for _, n := range []int{0, 1, 8, 19, 100, headerLen - 1, headerLen, len(whole) / 2, len(whole) - 1} {
		checkBad(t, fmt.Sprintf("%d bytes", n), whole[:n], "")
	}
	checkBad(t, "the first page of the file", whole[:headerLen], "the file is incomplete")
	checkBad(t, "a byte more", append(slices.Clone(whole), 0), "has extra data")
	newer := slices.Clone(whole)
	newer[8] = 2
	checkBad(t, "another version", newer, "has format 2, this program reads format 1")
	rules := rewritten(whole, `"analyzer":1`, `"analyzer":9`)
	checkBad(t, "other rules", rules, "made with version 9 of the analyzer")
	checkBad(t, "other sizes", rewritten(whole, `"pages":1500`, `"pages":1501`), "are inconsistent")
	checkBad(t, "other settings", rewritten(whole, `"b":0.4`, `"b":4.0`), "b is 4")
	damaged := slices.Clone(whole)
	damaged[40]++
	checkBad(t, "the header", damaged, "the header is damaged")
	damaged = slices.Clone(whole)
	damaged[len(damaged)-1]++
	checkBad(t, "the checksums", damaged, "checksums are damaged")
	checkBad(t, "something else", []byte("PAR1 and more"), "is not an index of pages")
}

func checkBad(t *testing.T, name string, b []byte, want string) {
	t.Helper()
	_, err := opened(t, b)
	var bad *IndexError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(bad.Hint(), "pipe index") {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

// rewritten replaces text of the header and makes its checksum fit.
func rewritten(whole []byte, from, to string) []byte {
	b := []byte(strings.Replace(string(whole), from, to, 1))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[jsonAt:headerLen], castagnoli))
	return b
}

// With any byte of it changed, an index is refused, or says that it is damaged, or
// finds what the whole one finds; Verify always says it.
func TestNoWrongAnswers(t *testing.T) {
	whole := sampleIndex(t)
	x, err := opened(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r := rand.New(rand.NewPCG(9, 10))
	refused, said, damages := 0, 0, 400
	if testing.Short() {
		damages = 100
	}
	for range damages {
		b := slices.Clone(whole)
		at := r.IntN(len(b))
		b[at] ^= byte(1 + r.IntN(255))
		y, err := opened(t, b)
		if err != nil {
			refused++
			continue
		}
		if y.Verify(context.Background()) == nil {
			t.Errorf("byte %d: Verify finds nothing", at)
		}
		z, err := opened(t, b) // which has verified nothing yet
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range sampleQueries {
			want, err := x.Search(q, 5)
			if err != nil {
				t.Fatal(err)
			}
			got, err := z.Search(q, 5)
			var bad *IndexError
			switch {
			case errors.As(err, &bad):
				said++
			case err != nil || !slices.Equal(got, want):
				t.Errorf("byte %d: %q finds %v, %v", at, q, got, err)
			}
		}
		if err := errors.Join(y.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 || said == 0 {
		t.Errorf("refused %d, said %d: too few damages mattered", refused, said)
	}
}

// FuzzIndex changes bytes of an index and corrects all checksums, as an attacker
// could: nothing may panic.
func FuzzIndex(f *testing.F) {
	whole := sampleIndex(f)
	f.Add(uint32(5000), []byte{1, 2, 3})
	f.Add(uint32(len(whole)-30_000), []byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		b := slices.Clone(whole)
		copy(b[int(at)%len(b):], change)
		x, err := opened(t, resummed(b))
		if err != nil {
			return
		}
		defer x.Close()
		for _, q := range sampleQueries {
			for _, top := range []int{1, 10_000} {
				x.Search(q, top)
			}
		}
		x.Page(3)
		x.Find("page_3")
	})
}

// resummed makes the checksums of a changed file fit, if it still has a header.
func resummed(b []byte) []byte {
	h := &Header{}
	n := int(binary.LittleEndian.Uint32(b[12:]))
	if n > headerLen-jsonAt || json.Unmarshal(b[jsonAt:jsonAt+n], h) != nil || checkSections(h.Sections, int64(len(b))) != nil {
		return b
	}
	var sums []byte
	for _, s := range h.Sections[:checksumsSection] {
		for chunk := range slices.Chunk(b[s.Offset:s.Offset+s.Size], chunkLen) {
			sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(chunk, castagnoli))
		}
	}
	last := h.Sections[checksumsSection]
	if int64(len(sums)) != last.Size {
		return b
	}
	copy(b[last.Offset:], sums)
	h.Checksums = digest.Of(sums)
	if head, err := h.encode(); err == nil {
		copy(b, head)
	}
	return b
}

func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"id": "A_-LRB-b-RRB-", "text": "x -LSB- y", "lines": "0\tx"}`))
	f.Add([]byte(`{"id": "\ud800", "text": null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		page, err := parsePage(line)
		if err != nil {
			return
		}
		b := newBlock(DefaultSettings())
		b.add(page, place{})
		total := uint32(0)
		for _, o := range b.list {
			total += o.count
		}
		if total != b.pages[0].words {
			t.Errorf("%d words, counted %d", b.pages[0].words, total)
		}
	})
}

// Searches run side by side and agree; Close waits for them and refuses new ones.
func TestSideBySide(t *testing.T) {
	x, err := opened(t, sampleIndex(t))
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]Hit, len(sampleQueries))
	for i, q := range sampleQueries {
		if want[i], err = x.Search(q, 7); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for n := range 300 {
				i := n % len(sampleQueries)
				got, err := x.Search(sampleQueries[i], 7)
				if errors.Is(err, errClosed) {
					return
				}
				if err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%q: %v, %v", sampleQueries[i], got, err)
				}
			}
		})
	}
	for range 2 {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if _, err := x.Search("w1", 1); !errors.Is(err, errClosed) {
		t.Errorf("closed: %v", err)
	}
}
