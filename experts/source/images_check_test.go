package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/pixel"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// countedDecoder counts what it decodes.
type countedDecoder struct {
	pixel.Decoder
	name  string
	calls atomic.Int64
	do    func() // at every call; nil: nothing
}

func (d *countedDecoder) Name() string { return d.name }

func (d *countedDecoder) Decode(b []byte) (*pixel.Image, error) {
	d.calls.Add(1)
	if d.do != nil {
		d.do()
	}
	return d.Decoder.Decode(b)
}

// checkOf is a check of the images of a source with a decoder that counts.
func checkOf(w *imageFiles) (*imageCheck, *countedDecoder, []part.Entry) {
	d := &countedDecoder{Decoder: pixel.StandardDecoder(), name: "counting 1"}
	c := &imageCheck{folder: storage.File(w.folder()), decoder: d, limits: pixel.DefaultLimits(), workers: 2, progress: progress.Silent{}, gate: pixel.NewGate(pixel.MostAtOnce)}
	ids, _, _ := listImages(context.Background(), c.folder)
	entries := make([]part.Entry, len(ids))
	for i, id := range ids {
		entries[i].ID = id
	}
	return c, d, entries
}

// TestImagesAreDecodedOnce by content, in whatever state the file of what is known is.
func TestImagesAreDecodedOnce(t *testing.T) {
	w := newImageFiles(t, 40, 16)
	w.addImage(t, "n1/copy.jpg", parttest.JPEG(t, 16, 16, 0))
	w.addImage(t, "n1/text.jpg", []byte("text"))
	w.addImage(t, "n1/short.jpg", parttest.JPEG(t, 16, 16, 50)[:300])
	folder := filepath.Join(w.dir, "experts")
	run := func(decoder string, want int64) []checkedImage {
		t.Helper()
		c, d, entries := checkOf(w)
		d.name = decoder
		got, err := c.run(t.Context(), folder, entries)
		if err != nil || d.calls.Load() != want {
			t.Errorf("%d images decoded, want %d, %v", d.calls.Load(), want, err)
		}
		return got
	}
	first := fmt.Sprint(run("counting 1", 41)) // two are no images by their headers; a copy in the same round is not yet known
	files, _ := filepath.Glob(filepath.Join(folder, "images-*"))
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	whole := parttest.Read(t, files[0])
	if lines := strings.Count(whole, "\n"); lines != 1+42 {
		t.Errorf("%d lines", lines)
	}
	if again := fmt.Sprint(run("counting 1", 0)); again != first {
		t.Errorf("%s\nthen %s", first, again)
	}
	run("counting 2", 41) // another decoder finds out for itself
	for name, c := range map[string]struct {
		text    string
		decoded int64
		after   string // "": the whole again
	}{
		"cut off":       {whole[:len(whole)-5], 1, ""},
		"a line gone":   {strings.Join(strings.SplitAfter(whole, "\n")[:42], ""), 1, ""},
		"one that lies": {strings.Replace(whole, `""`, `"so"`, 1), 2, strings.Replace(whole, `""`, `"so"`, 1) + strings.SplitAfter(whole, "\n")[1]},
		"not ours":      {"hello\nworld\n", 41, ""},
		"another":       {strings.Replace(whole, "counting", "discount", 1), 41, ""},
		"empty":         {"", 41, ""},
	} {
		if err := os.WriteFile(files[0], []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		got := run("counting 1", c.decoded)
		if fmt.Sprint(got) != first {
			t.Errorf("%s: %v", name, got)
		}
		if c.after == "" {
			c.after = whole
		}
		if after := parttest.Read(t, files[0]); after != c.after {
			t.Errorf("%s: left %q", name, after)
		}
	}
}

// TestCheckStops: a cancelled check ends soon.
func TestCheckStops(t *testing.T) {
	w := newImageFiles(t, 60, 16)
	c, d, entries := checkOf(w)
	ctx, cancel := context.WithCancel(t.Context())
	d.do = func() {
		if d.calls.Load() == 10 {
			cancel()
		}
	}
	if _, err := c.run(ctx, filepath.Join(w.dir, "experts"), entries); !errors.Is(err, context.Canceled) || d.calls.Load() > 12 {
		t.Errorf("%d decoded, %v", d.calls.Load(), err)
	}
}

// counter counts progress.
type counter struct{ total, done, ended atomic.Int64 }

func (c *counter) Start(total int64, _ string) { c.total.Add(total) }
func (c *counter) Add(n int64)                 { c.done.Add(n) }
func (c *counter) Done()                       { c.ended.Add(1) }
func (*counter) Note(string, ...any)           {}

// TestCheckMemory holds many images, whose pixels alone would be 225 MB, against
// the memory that two at a time need.
func TestCheckMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes more")
	}
	w := newImageFiles(t, 0, 0)
	base := parttest.PNG(t, 500, 500)
	const n = 300
	for i := range n {
		w.addImage(t, fmt.Sprintf("n1/%03d.png", i), fmt.Appendf(bytes.Clone(base), "%d", i)) // what follows a PNG is not read
	}
	c, d, entries := checkOf(w)
	progress := &counter{}
	c.progress = progress
	var mu sync.Mutex
	var most, before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	d.do = func() {
		if d.calls.Load()%8 != 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		var now runtime.MemStats
		runtime.GC() // what is still in use
		runtime.ReadMemStats(&now)
		if now.HeapAlloc > most.HeapAlloc {
			most = now
		}
	}
	if _, err := c.run(t.Context(), filepath.Join(w.dir, "experts"), entries); err != nil {
		t.Fatal(err)
	}
	grown := (int64(most.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d images of 0.75 MB, %d MB of heap", n, grown)
	if grown > 30 {
		t.Errorf("the heap grew by %d MB", grown)
	}
	if progress.total.Load() != n || progress.done.Load() != n || progress.ended.Load() != 1 {
		t.Errorf("progress: %d of %d, ended %d times", progress.done.Load(), progress.total.Load(), progress.ended.Load())
	}
}

// TestPipesAreNotWaitedFor refuses a file that would never end.
func TestPipesAreNotWaitedFor(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	if err := syscall.Mkfifo(filepath.Join(w.folder(), "n1", "pipe.jpg"), 0o666); err != nil {
		missing(t, "named pipes", err)
	}
	if _, err := w.open(t); err == nil || !strings.Contains(err.Error(), "n1/pipe.jpg: is a pipe or a device, not a regular file") {
		t.Errorf("got %v", err)
	}
}

// TestCheckDecodesWithinTheGate: where the gate has room for one image, one is decoded at a time.
func TestCheckDecodesWithinTheGate(t *testing.T) {
	c, d, entries := checkOf(newImageFiles(t, 24, 16))
	var inside atomic.Int64
	d.do = func() {
		if now := inside.Add(1); now > 1 {
			t.Errorf("%d images are decoded at a time", now)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	}
	c.workers, c.gate = 8, pixel.NewGate(16*16)
	if _, err := c.run(t.Context(), t.TempDir(), entries); err != nil || d.calls.Load() == 0 {
		t.Errorf("%d decoded, %v", d.calls.Load(), err)
	}
}

// missing ends a test that needs what this machine lacks: by skipping it, and under CI by failing it.
func missing(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s: %v", what, err)
	}
	t.Skipf("needs %s: %v", what, err)
}

// TestDividedChecks: ranges that other workers have looked at give the results of one look at all; results that are damaged,
// or of other images, are an error.
func TestDividedChecks(t *testing.T) {
	w := newImageFiles(t, 23, 16)
	w.addImage(t, "n1/text.jpg", []byte("text"))
	w.addImage(t, "n1/short.jpg", parttest.JPEG(t, 16, 16, 50)[:300])
	if err := os.Symlink("nowhere.jpg", filepath.Join(w.dir, "images", "n1", "gone.jpg")); err != nil {
		t.Fatal(err)
	}
	c, d, entries := checkOf(w)
	whole, err := c.run(t.Context(), t.TempDir(), entries)
	if err != nil {
		t.Fatal(err)
	}
	calls := d.calls.Load()
	spoil := func(results [][]byte) [][]byte { return results }
	divided := func() ([]checkedImage, error) {
		return c.all(t.Context(), &part.Setup{Build: &part.Build{Divide: func(ctx context.Context, pass part.Pass) (results [][]byte, err error) {
			for from := 0; from < pass.Items; from += 5 {
				b, err := pass.Make(ctx, from, min(from+5, pass.Items))
				if err != nil {
					return nil, err
				}
				results = append(results, b)
			}
			return spoil(results), nil
		}}}, entries)
	}
	got, err := divided()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(whole) {
		t.Errorf("%v, %v; want %v", got, err, whole)
	}
	if again := d.calls.Load() - calls; again != calls {
		t.Errorf("%d images decoded, want %d", again, calls)
	}
	for name, s := range map[string]func([][]byte) [][]byte{
		"one missing": func(r [][]byte) [][]byte { return r[1:] },
		"one twice":   func(r [][]byte) [][]byte { return append(r, r[0]) },
		"cut":         func(r [][]byte) [][]byte { r[0] = r[0][:len(r[0])/2]; return r },
		"empty":       func(r [][]byte) [][]byte { r[2] = nil; return r },
	} {
		spoil = s
		if _, err := divided(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStoreThatFailsIsNoBadImage: an image that cannot be read now is an error, and not one that is left out.
func TestStoreThatFailsIsNoBadImage(t *testing.T) {
	failed := &storage.Error{Op: "read", URL: "s3://b/a.jpg", Err: errors.New("503")}
	for err, want := range map[error]bool{
		error(failed): false,
		&storage.Error{Op: "read", URL: "s3://b/a.jpg", Err: &storage.Fault{Msg: "gone", Kind: fs.ErrNotExist}}:     true,
		&storage.Error{Op: "read", URL: "s3://b/a.jpg", Err: &storage.Fault{Msg: "denied", Kind: fs.ErrPermission}}: true,
		fs.ErrPermission: true,
	} {
		if got := lasting(fmt.Errorf("image: %w", err)); got != want {
			t.Errorf("%v: lasting %v", err, got)
		}
	}
}
