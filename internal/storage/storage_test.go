package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

func folder(t *testing.T, url string) *storage.Folder {
	t.Helper()
	return storagetest.Folder(t, url)
}

func TestConformance(t *testing.T) {
	_, mem := storagetest.New(t)
	flaky, flakyURL := storagetest.New(t)
	flaky.Fault, flaky.Cut = storagetest.Every(7), storagetest.CutEvery(3, 1000)
	for name, url := range map[string]string{
		"files": t.TempDir(), "file URL": "file://" + t.TempDir(), "memory": mem, "below a prefix": mem + "/some/prefix",
		"with faults": flakyURL,
	} {
		t.Run(name, func(t *testing.T) { storagetest.Conform(t, folder(t, url)) })
	}
}

func TestLocations(t *testing.T) {
	storagetest.New(t)
	for _, c := range []struct{ base, name, joined, shown string }{
		{"out", "a.csv", "out/a.csv", "out/a.csv"},
		{"/out/", "a.csv", "/out/a.csv", "/out/a.csv"},
		{"file:///out", "a.csv", "/out/a.csv", "/out/a.csv"},
		{"s3://b", "a.csv", "s3://b/a.csv", "s3://b/a.csv"},
		{"s3://b/x/?region=eu&key=SECRET", "y/a.csv", "s3://b/x/y/a.csv?region=eu&key=SECRET", "s3://b/x/y/a.csv"},
		{"s3://key:SECRET@b/x", "a%20b", "s3://b/x/a%20b", "s3://b/x/a%20b"},
	} {
		base, err := storage.Parse(strings.Replace(c.base, "s3:", "mem:", 1))
		if err != nil {
			t.Fatal(err)
		}
		joined := base.Join(c.name)
		if got := strings.Replace(joined.URL(), "mem:", "s3:", 1); got != c.joined {
			t.Errorf("%s and %s are %s, want %s", c.base, c.name, got, c.joined)
		}
		if got := strings.Replace(fmt.Sprint(joined), "mem:", "s3:", 1); got != c.shown {
			t.Errorf("%s is shown as %s, want %s", c.joined, got, c.shown)
		}
		if got := joined.Base(); got != filepath.Base(c.name) {
			t.Errorf("%s ends in %s", c.joined, got)
		}
		if rel, ok := base.Rel(joined); !ok || rel != c.name {
			t.Errorf("%s is %s below %s", joined, rel, base)
		}
		if again, err := storage.Parse(joined.URL()); err != nil || again != joined {
			t.Errorf("%s is parsed as %v, %v", joined.URL(), again, err)
		}
	}
	for path, want := range map[string]bool{"s3://b": true, "x://b": false, "a/b": false, "gs:/b": false, "./s3://b": false, "file:///a": true, "hdfs://a": true} {
		if storage.IsURL(path) != want {
			t.Errorf("%s is a URL: %v", path, !want)
		}
	}
}

// No name leads out of a bucket, as no path leads above the root of a disk: a URL of such a name could not be parsed again. What is
// not below a folder has no path below it.
func TestAboveTheRoot(t *testing.T) {
	for base, want := range map[string]string{"mem://b/conf?key=SECRET": "mem://b/x.csv?key=SECRET", "/conf": "/x.csv"} {
		at, err := storage.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Join("../../x.csv"); got.URL() != want {
			t.Errorf("../../x.csv from %s is %s", at, got)
		} else if name, ok := at.Rel(got); ok {
			t.Errorf("%s is %s below %s", got, name, at)
		}
	}
}

// An unknown scheme is one error that says what is known; it never becomes a local folder.
func TestUnknownScheme(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, url := range []string{"s3://bucket/x?secret=S", "hdfs://host/x"} {
		_, err := storage.Parse(url)
		var hinted *storage.Error
		if !errors.As(err, &hinted) || hinted.Hint() == "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
}

// A URL that is mistyped is an error with advice. It never becomes a local folder, or an object of another name.
func TestMistyped(t *testing.T) {
	_, memory := storagetest.New(t)
	for _, path := range []string{"mem:/bucket/x", "MEM:/bucket", "file:/x", "file://data/x", "mem://", "mem:///x", memory + "/a//b", memory + "/a/../b", memory + "/./b"} {
		_, err := storage.Parse(path)
		var hinted *storage.Error
		if !errors.As(err, &hinted) || hinted.Hint() == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"a:/b", "c:/users", "./mem:/x", "/mem:/bucket/x", "file:///a//b", "file://localhost/a", memory, memory + "/", memory + "/a/", memory + "/..a"} {
		if _, err := storage.Parse(path); err != nil {
			t.Error(err)
		}
	}
}

// The root of a bucket is a folder: nothing is written to it under a name that nobody gave.
func TestRootOfABucket(t *testing.T) {
	_, url := storagetest.New(t)
	local := t.TempDir()
	file := filepath.Join(local, "a.txt")
	if err := os.WriteFile(file, []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := storagetest.At(t, url).Put(t.Context(), file); err == nil {
		t.Error("a file became the bucket")
	}
	if _, err := storagetest.At(t, url).Open(t.Context()); err == nil {
		t.Error("the bucket was opened as an object")
	}
	if err := storagetest.At(t, url).Put(t.Context(), local); err != nil {
		t.Fatal(err)
	}
	f := storagetest.Folder(t, url)
	if b, err := f.ReadFile(t.Context(), "a.txt", 9); err != nil || string(b) != "a" {
		t.Errorf("%q, %v", b, err)
	}
	t.Setenv(storage.CacheVariable, t.TempDir())
	if copied, err := storagetest.At(t, url).Fetch(t.Context()); err != nil {
		t.Error(err)
	} else if b, err := os.ReadFile(filepath.Join(copied, "a.txt")); err != nil || string(b) != "a" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := storagetest.At(t, url).Stat(t.Context()); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

// What fails for long is one error that says how often it was tried; what fails for good is not tried again.
func TestRetriesHaveLimits(t *testing.T) {
	m, url := storagetest.New(t)
	f := folder(t, url)
	for passing, tries := range map[bool]int{true: 8, false: 1} {
		before, _ := m.Requests("stat")
		m.Fault = func(string, string) error { return &storage.Fault{Msg: "no", Kind: fs.ErrPermission, Passing: passing} }
		storage.Hasten(t)
		_, err := f.Stat(t.Context(), "x")
		after, _ := m.Requests("stat")
		if after-before != tries || !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "8 times") != passing {
			t.Errorf("%d requests: %v", after-before, err)
		}
	}
}

// A claim whose answer got lost is a success for its writer, and for nobody else.
func TestLostAnswer(t *testing.T) {
	m, url := storagetest.New(t)
	f := folder(t, url)
	claim := storage.WriteOptions{IfNotExist: true}
	lost := false
	m.After = func(op, name string) error {
		if op != "write" || lost {
			return nil
		}
		lost = true
		return &storage.Fault{Msg: "the connection was lost", Passing: true}
	}
	if err := f.WriteFile(t.Context(), "claim", []byte("mine"), claim); err != nil || !lost {
		t.Errorf("lost %v: %v", lost, err)
	}
	lost = false
	if err := f.WriteFile(t.Context(), "claim", []byte("other"), claim); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
}

// ReadAt of any parts gives the bytes, with fewer requests than parts.
func TestReadAt(t *testing.T) {
	m, url := storagetest.New(t)
	m.Cut = storagetest.CutEvery(5, 1000)
	data := make([]byte, 5<<20+123)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	if err := folder(t, url).WriteFile(t.Context(), "x", data, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	o, err := storagetest.At(t, url+"/x").Object(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for range 300 {
		at, n := r.IntN(len(data)), 1+r.IntN(2<<20)
		p := make([]byte, n)
		got, err := o.ReadAt(p, int64(at))
		want := data[at:min(at+n, len(data))]
		if !bytes.Equal(p[:got], want) || (err != nil) != (len(want) < n) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes at %d: %d, %v", n, at, got, err)
		}
	}
	if all, err := io.ReadAll(o); err != nil || !bytes.Equal(all, data) {
		t.Errorf("the stream has %d bytes, %v", len(all), err)
	}
	if n, bytes := m.Requests("read"); n > 20 || bytes > 3*int64(len(data)) {
		t.Errorf("%d requests of %d bytes", n, bytes)
	}
}

// Parts of an object that was replaced meanwhile are not mixed.
func TestReplacedWhileRead(t *testing.T) {
	_, url := storagetest.New(t)
	f := folder(t, url)
	for _, text := range []string{"old", "new"} {
		if err := f.WriteFile(t.Context(), "x", []byte(text), storage.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if text == "new" {
			break
		}
		o, err := storagetest.At(t, url+"/x").Object(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := o.ReadAt(make([]byte, 3), 0); err == nil || !strings.Contains(err.Error(), "replaced") {
				t.Errorf("the error is %v", err)
			}
		}()
	}
}

// A local copy is made once for a content, of an object or of a folder.
func TestLocal(t *testing.T) {
	t.Setenv(storage.CacheVariable, t.TempDir())
	m, url := storagetest.New(t)
	f := folder(t, url)
	put := func(name, text string) {
		if err := f.WriteFile(t.Context(), name, []byte(text), storage.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	local := func(name string) string {
		path, err := storagetest.At(t, url+"/"+name).Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	holds := func(path, want string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v; want %q", path, text, err, want)
		}
	}
	put("model/a.onnx", "a1")
	put("model/b/c.json", "c")
	first := local("model/a.onnx")
	holds(first, "a1")
	holds(filepath.Join(local("model"), "b", "c.json"), "c")
	reads, _ := m.Requests("read")
	if again := local("model/a.onnx"); again != first || filepath.Base(first) != "a.onnx" {
		t.Errorf("copies are %s and %s", first, again)
	}
	if n, _ := m.Requests("read"); n != reads {
		t.Error("it was fetched twice")
	}
	put("model/a.onnx", "a2")
	holds(local("model/a.onnx"), "a2")
	holds(first, "a1")
	if _, err := storagetest.At(t, url+"/none").Fetch(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if path, err := storagetest.At(t, "file:///a/b").Fetch(t.Context()); err != nil || path != "/a/b" {
		t.Errorf("a local path: %s, %v", path, err)
	}
}
