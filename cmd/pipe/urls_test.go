package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/cloud/cloudtest"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
	"pipe/pipeline/exitcode"
)

// bucket is an object store with the files of a folder below a prefix.
type bucket struct {
	*cloudtest.S3
	prefix string
}

func bucketOf(t *testing.T, prefix, folder string) *bucket {
	t.Helper()
	for name, value := range cloudtest.Environment() {
		t.Setenv(name, value)
	}
	b := &bucket{cloudtest.NewS3(t), prefix}
	to := storagetest.Folder(t, b.URL(prefix))
	t.Chdir(folder)
	for name, text := range contents(t) {
		if err := to.WriteFile(t.Context(), name, []byte(text), storage.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// line replaces names of files, the output and the work folder by URLs.
func (b *bucket) line(local string, args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		_, err := os.Stat(filepath.Join(local, arg))
		if err == nil && i > 0 && args[i-1] != "generate" || i > 0 && (args[i-1] == "--out" || args[i-1] == "--work") {
			args[i] = b.URL(b.prefix, arg)
		}
	}
	return args
}

// outputs are the objects whose names begin with out. Texts that name files name them as a local run does.
func (b *bucket) outputs(t *testing.T) map[string]string {
	t.Helper()
	from := storagetest.Folder(t, b.URL(b.prefix))
	found := map[string]string{}
	for o, err := range from.List(t.Context(), "out") {
		if err != nil {
			t.Fatal(err)
		}
		text, err := from.ReadFile(t.Context(), o.Name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		found[o.Name] = strings.ReplaceAll(string(text), "s3://"+cloudtest.Bucket+"/"+b.prefix+"/", "")
	}
	return found
}

// busy lets 5% of the requests fail.
func busy() func(*http.Request) int {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(3, 4))
	return func(*http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if r.IntN(20) == 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
}

// Every command that leaves files leaves the same ones in an object store, from inputs there, as on a disk, also while
// the store refuses 5% of the requests. Nothing else appears on the disk.
func TestURLs(t *testing.T) {
	needRuntime(t)
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	for name, lines := range twice {
		if name == "bench" { // takes no URL, see TestURLsRefused
			continue
		}
		t.Run(name, func(t *testing.T) {
			local, elsewhere, cache := t.TempDir(), t.TempDir(), t.TempDir()
			workFor(t, local)
			b := bucketOf(t, "work", local)
			b.Fail(busy())
			args := strings.Fields(lines[0])
			p := start(t, local, nil, args...)
			if err := <-p.ended; err != nil {
				t.Fatalf("%v: %v, %s", args, err, p.stderr.String())
			}
			b.start(t, elsewhere, cache, b.line(local, args)).ends(t)
			b.holds(t, outputs(t, local))
			leavesNothing(t, elsewhere)
		})
	}
}

// away is a program whose files are in a bucket.
type away struct{ *program }

// start starts a program in a folder without files.
func (b *bucket) start(t *testing.T, folder, cache string, args []string) away {
	t.Helper()
	return away{start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), storage.CacheVariable+"="+cache) }, args...)}
}

// ends waits for the end, and checks that it is a good one and that messages name files as users do.
func (p away) ends(t *testing.T) {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("%v: %v, %s", p.Args, err, p.stderr.String())
	}
	if text := p.stderr.String(); strings.Contains(text, "endpoint") {
		t.Errorf("a message shows parameters: %s", text)
	}
}

// holds checks that the outputs in the bucket are these.
func (b *bucket) holds(t *testing.T, want map[string]string) {
	t.Helper()
	b.Fail(nil)
	got := b.outputs(t)
	if len(want) == 0 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("the bucket has %v, the disk %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for file, text := range want {
		if got[file] != text {
			t.Errorf("%s differs: %d bytes in the bucket, %d on the disk%s", file, len(got[file]), len(text), firstDifference(got[file], text))
		}
	}
}

func leavesNothing(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("the run left %v on the disk, %v", left, err)
	}
}

// Shards whose inputs, output and work folder are in an object store, made by two workers at once while the store refuses 5% of
// the requests, are gathered to the bytes of a run on a disk.
func TestShardsAtURLs(t *testing.T) {
	needRuntime(t)
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	for name, w := range sharedWorks(t, 4000) {
		t.Run(name, func(t *testing.T) {
			local, elsewhere, cache := t.TempDir(), t.TempDir(), t.TempDir()
			w.put(t, local)
			b := bucketOf(t, "work", local)
			if err := os.Mkdir(filepath.Join(local, "out"), 0o777); err != nil {
				t.Fatal(err)
			}
			args := append(slices.Clone(w.args), "--out", "out/"+w.out)
			p := start(t, local, nil, args...)
			if err := <-p.ended; err != nil {
				t.Fatalf("%v: %v, %s", args, err, p.stderr.String())
			}
			shard := func(more ...string) away {
				return b.start(t, elsewhere, cache, b.line(local, slices.Concat(args, []string{"--work", "shards", "--shards", "3"}, more)))
			}
			b.Fail(busy())
			one, next := shard("--shard", "1"), shard("--shard", "next")
			one.ends(t)
			next.ends(t)
			shard("--list").ends(t)
			shard("--gather").ends(t)
			b.holds(t, outputs(t, local))
			leavesNothing(t, elsewhere)
		})
	}
}

func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-80)
			return ": ..." + a[from:min(len(a), i+80)] + "... and ..." + b[from:min(len(b), i+80)]
		}
	}
	return ""
}

// What must be on a disk, and what is no object store, is one error that says so, and makes no file.
func TestURLsRefused(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		text string
	}{
		{"bench synthetic --out s3://b/x", exitcode.Usage, "--out must be on a local disk"},
		{"costs --config a.yaml --out b.parquet --answers s3://b/x", exitcode.Usage, "--answers must be on a local disk"},
		{"serve --policy s3://b/x", exitcode.Usage, "--policy must be on a local disk"},
		{"decide --policy hdfs://b/p.onnx --in a.csv", exitcode.Failure, "hdfs:// are not supported"},
		{"generate pages --pages 10 --out ftp://b/x", exitcode.Failure, "ftp:// are not supported"},
		{"generate pages --pages 10 --out https://b/x", exitcode.Failure, "https:// are not supported"},
		{"inspect s3:///x", exitcode.Failure, "names no bucket"},
		{"merge s3://b/x?region=a s3://b/y?region=c --out z.parquet", exitcode.Failure, "different parameters"},
	} {
		folder := t.TempDir()
		p := start(t, folder, nil, strings.Fields(c.line)...)
		<-p.ended
		text := p.stderr.String()
		if p.ProcessState.ExitCode() != c.code || !strings.Contains(text, c.text) || strings.Count(text, "pipe: error: ") != 1 || !strings.Contains(text, "pipe: hint: ") && c.text != "names no bucket" {
			t.Errorf("%s: exit code %d, %s", c.line, p.ProcessState.ExitCode(), text)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s left %v", c.line, left)
		}
	}
}

// A flag for a name takes a name that looks like a URL.
func TestNamesLikeURLs(t *testing.T) {
	needRuntime(t)
	for _, line := range []string{
		"decide --policy no.onnx --in a.csv --text http://schema.org/text", "decide --policy no.onnx --in a.csv --image http://schema.org/image",
		"eval --in no.parquet --policy no.onnx --today http://a/none", "merge no.parquet no.parquet --out z.parquet --feature-name http://a",
	} {
		p := start(t, t.TempDir(), nil, strings.Fields(line)...)
		<-p.ended
		if text := p.stderr.String(); strings.Contains(text, "not supported") || !strings.Contains(text, "no such file") {
			t.Errorf("%s: %s", line, text)
		}
	}
}

// Commands that only print say the same about objects as about files.
func TestURLsPrinted(t *testing.T) {
	needRuntime(t)
	local := t.TempDir()
	workFor(t, local)
	b := bucketOf(t, "read", local)
	cache := t.TempDir()
	for _, line := range []string{
		"inspect table.parquet", "inspect policy.onnx", "diff table.parquet table.parquet",
		"decide --policy policy.onnx --in table.parquet --json",
	} {
		var printed []string
		for _, args := range [][]string{strings.Fields(line), b.line(local, strings.Fields(line))} {
			var stdout bytes.Buffer
			p := start(t, local, func(c *exec.Cmd) {
				c.Env, c.Stdout = append(os.Environ(), storage.CacheVariable+"="+cache), &stdout
			}, args...)
			if err := <-p.ended; err != nil {
				t.Errorf("%v: %v, %s", args, err, p.stderr.String())
			}
			printed = append(printed, strings.ReplaceAll(stdout.String(), "s3://data/read/", ""))
		}
		if printed[0] != printed[1] {
			t.Errorf("%s prints %q of an object, %q of a file", line, printed[1], printed[0])
		}
	}
}
