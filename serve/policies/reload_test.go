package policies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// content is the bytes of a policy file.
func content(t testing.TB, p *policy.Policy) []byte {
	t.Helper()
	b, err := os.ReadFile(decidetest.WritePolicy(t, p))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes a file in place, as cp does.
func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// load decides from several goroutines until stop is called, which reports how many decisions there were. Each must
// succeed.
func load(t *testing.T, set *Set, name string) (stop func() int64) {
	var n atomic.Int64
	done := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			x := numbers(uint64(i), 3)
			for {
				select {
				case <-done:
					return
				default:
				}
				p, err := set.Acquire(name)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Decide(context.Background(), nil, x, 3); err != nil {
					t.Error(err)
				}
				p.Release()
				n.Add(1)
			}
		})
	}
	return func() int64 {
		close(done)
		callers.Wait()
		return n.Load()
	}
}

// A hundred reloads under load, every third of a broken file: no request fails, and afterwards one version is open.
func TestReloadsUnderLoad(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	path := write(t, dir, "a", version("0"))
	write(t, dir, "other", version("of another"))
	set, err := Open(t.Context(), settings(dir), orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	stop := load(t, set, "a")
	r, served := rand.New(rand.NewPCG(1, 1)), ""
	reloads := 100
	if testing.Short() {
		reloads = 20
	}
	for i := range reloads {
		b := content(t, version(fmt.Sprint(i+1)))
		broken := i%3 == 2
		if broken {
			b = b[:r.IntN(len(b))]
		}
		put(t, path, b)
		changes := set.Reload(t.Context())
		c := changes[0]
		switch {
		case len(changes) != 2 || c.Name != "a" || changes[1].Verdict != Unchanged:
			t.Fatalf("reload %d: %v", i, changes)
		case broken && (c.Verdict != Refused || c.Reason == "" || c.New != served):
			t.Fatalf("reload %d of a broken file: %v", i, c)
		case !broken && (c.Verdict != Replaced || c.New == c.Old || c.New == ""):
			t.Fatalf("reload %d: %v", i, c)
		}
		served = c.New
		p, err := set.Acquire("a")
		if err != nil || p.Digest != served {
			t.Fatalf("reload %d: %v, %v is served", i, err, p)
		}
		p.Release()
	}
	if n := stop(); n < int64(reloads) {
		t.Errorf("only %d decisions", n)
	}
}

// However much of a file has been copied, it is refused, and the version before it decides.
func TestEveryPartOfAFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a", version("1"))
	set := open(t, settings(path))
	b := content(t, version("2"))
	for n := 0; n < len(b); n += max(1, len(b)/150) {
		put(t, path, b[:n])
		if c := set.Reload(t.Context()); len(c) != 1 || c[0].Verdict != Refused || note(t, set, "a") != "1" {
			t.Fatalf("the first %d of %d bytes: %v, %q is served", n, len(b), c, note(t, set, "a"))
		}
	}
	put(t, path, b)
	if c := set.Reload(t.Context()); c[0].Verdict != Replaced || note(t, set, "a") != "2" {
		t.Fatal(c)
	}
}

func TestAReplacedVersionLivesUntilItsLastLease(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a", version("1"))
	set := open(t, settings(dir))
	old := acquire(t, set, "a")
	put(t, path, content(t, version("2")))
	if c := set.Reload(t.Context()); c[0].Verdict != Replaced || c[0].Old != old.Digest {
		t.Fatal(c)
	}
	fresh := acquire(t, set, "a")
	if fresh == old || fresh.Info().Info["note"] != "2" || old.Info().Info["note"] != "1" {
		t.Errorf("%v and %v are served", fresh.Info(), old.Info())
	}
	if _, err := old.Decide(t.Context(), nil, numbers(1, 1), 1); err != nil {
		t.Errorf("the old version: %v", err)
	}
	var unknown *UnknownError
	if _, err := set.Acquire("a@" + old.Digest); !errors.As(err, &unknown) {
		t.Errorf("the old version can be acquired: %v", err)
	}
	p, err := set.Acquire("a")
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	put(t, path, content(t, version("3")))
	set.Reload(t.Context())
	if _, err := fresh.Decide(t.Context(), nil, numbers(1, 1), 1); err != nil {
		t.Errorf("a leased version was closed: %v", err)
	}
}

func TestFilesThatHaveGone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, dir, name, version(name))
	}
	s := settings(dir)
	s.Default = "b"
	set := open(t, s)
	for _, name := range []string{"a", "b"} {
		if err := os.Remove(filepath.Join(dir, name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	if changes, _ := set.reload(t.Context(), true); len(changes) != 2 || changes[0].Verdict != Kept || changes[1].Verdict != Kept {
		t.Fatalf("a watch: %v", changes)
	}
	if changes, _ := set.reload(t.Context(), true); len(changes) != 0 {
		t.Fatalf("a second watch: %v", changes)
	}
	changes := set.Reload(t.Context())
	var verdicts []Verdict
	for _, c := range changes {
		verdicts = append(verdicts, c.Verdict)
	}
	if !slices.Equal(verdicts, []Verdict{Removed, Kept, Unchanged}) {
		t.Fatalf("a reload: %v", changes)
	}
	if names := set.Names(); !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("left are %q", names)
	}
	write(t, dir, "a", version("a"))
	if c := set.Reload(t.Context()); c[0].Verdict != Added {
		t.Errorf("a file that came back: %v", c)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if c := set.Reload(t.Context()); len(c) != 1 || c[0].Verdict != Refused || len(set.Names()) != 3 {
		t.Errorf("without its folder: %v, left are %q", c, set.Names())
	}
}

// A folder that is away for a moment takes no policy with it, however its path is written; a file that has gone does.
func TestAFolderThatIsAway(t *testing.T) {
	rt := orttest.Open(t, 1)
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{
		{"p"},
		{"p/"},
		{"./p"},
		{"p//"},
		{"x/../p"},
		{here + "/p/"},
		{"./p.onnx"},
		{"p.onnx/"},
		{"./p", here + "/p/a.onnx"}, // which is found in the folder, too
	} {
		dir := filepath.Clean(paths[0])
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "a", version("a"))
		gone := write(t, dir, "b", version("b"))
		write(t, dir, "c", version("c"))
		set, err := Open(t.Context(), settings(paths...), rt, nil, nil)
		if err != nil {
			t.Errorf("%q: %v", paths, err)
			continue
		}
		if err := errors.Join(os.Remove(gone), os.Rename(dir, "away")); err != nil {
			t.Fatal(err)
		}
		if c := set.Reload(t.Context()); len(set.Names()) != 3 {
			t.Errorf("%q are away: %v, left are %q", paths, c, set.Names())
		}
		if err := os.Rename("away", dir); err != nil {
			t.Fatal(err)
		}
		if c := set.Reload(t.Context()); !slices.Equal(set.Names(), []string{"a", "c"}) {
			t.Errorf("%q are back without b: %v, left are %q", paths, c, set.Names())
		}
		if err := errors.Join(set.Close(), os.RemoveAll(dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// watched opens a set that is watched until the end of the test, and returns its log.
func watched(t *testing.T, s Settings) (*Set, *logged) {
	t.Helper()
	here := goleak.IgnoreCurrent()
	log := &logged{}
	set, err := Open(t.Context(), s, orttest.Open(t, 1), nil, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- set.Watch(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, set.Close()); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, here)
	})
	return set, log
}

// logged is a log for tests.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// eventually waits until ok.
func eventually(t *testing.T, what string, log *logged, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s; log:\n%s", what, log)
		}
	}
}

// note is what distinguishes the version that is served.
func note(t *testing.T, set *Set, name string) string {
	t.Helper()
	p, err := set.Acquire(name)
	if err != nil {
		return ""
	}
	defer p.Release()
	return p.Info().Info["note"]
}

// link makes a link that replaces another at once.
func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Kubernetes mounts a configuration as links to files below ..data, a link that it replaces.
func TestWatchFollowsMountedConfigurations(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"1", "2", "3"} {
		data := filepath.Join(dir, "..2026_"+v)
		if err := os.Mkdir(data, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, data, "a", version(v))
	}
	link(t, "..2026_1", filepath.Join(dir, "..data"))
	link(t, filepath.Join("..data", "a.onnx"), filepath.Join(dir, "a.onnx"))
	for name, path := range map[string]string{"folder": dir, "file": filepath.Join(dir, "a.onnx")} {
		t.Run(name, func(t *testing.T) {
			link(t, "..2026_1", filepath.Join(dir, "..data"))
			set, log := watched(t, settings(path))
			for _, v := range []string{"2", "3", "1"} {
				link(t, "..2026_"+v, filepath.Join(dir, "..data"))
				eventually(t, "version "+v, log, func() bool { return note(t, set, "a") == v })
			}
		})
	}
}

// A release is a folder behind a link, which is replaced.
func TestWatchFollowsALinkToAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"1", "2", "3"} {
		if err := os.Mkdir(filepath.Join(dir, v), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, v), "a", version(v))
	}
	link(t, "1", filepath.Join(dir, "live"))
	set, log := watched(t, settings(filepath.Join(dir, "live")))
	for _, v := range []string{"2", "3"} {
		link(t, v, filepath.Join(dir, "live"))
		eventually(t, "version "+v, log, func() bool { return note(t, set, "a") == v })
	}
	// A file that is written in the folder behind the link is seen too.
	write(t, filepath.Join(dir, "3"), "b", version("b"))
	eventually(t, "a new file", log, func() bool { return note(t, set, "b") == "b" })
}

// A file that is being copied is not read before it is complete; one that stays broken is refused once.
func TestWatchWaitsForFilesThatAreWritten(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a", version("1"))
	set, log := watched(t, settings(dir))
	stop := load(t, set, "a")
	b := content(t, version("2"))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(b, len(b)/10) {
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Millisecond) // less than Settle
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the whole file", log, func() bool { return note(t, set, "a") == "2" })
	if n := log.count("refused"); n > 0 {
		t.Errorf("refused %d times while it was written:\n%s", n, log)
	}
	put(t, path, b[:len(b)/2])
	put(t, filepath.Join(dir, ".a.onnx.swp"), b)
	put(t, filepath.Join(dir, "4913"), nil)
	eventually(t, "a refusal", log, func() bool { return log.count("refused") == 1 })
	put(t, filepath.Join(dir, "b.onnx~"), b)
	write(t, dir, "c", version("c"))
	eventually(t, "another file", log, func() bool { return note(t, set, "c") == "c" })
	if n := log.count("refused"); n != 1 || note(t, set, "a") != "2" {
		t.Errorf("refused %d times, %q is served", n, note(t, set, "a"))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removal", log, func() bool { return log.count(`"kept"`) == 1 })
	write(t, dir, "a", version("3"))
	eventually(t, "the new file", log, func() bool { return note(t, set, "a") == "3" })
	if names := set.Names(); !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("served are %q", names)
	}
	stop()
}

// Without events of the file system, files are found by looking.
func TestWatchPolls(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	// Two links in a row: the folder of the second is not watched.
	target := write(t, elsewhere, "x", version("1"))
	middle := filepath.Join(t.TempDir(), "m.onnx")
	link(t, target, middle)
	link(t, middle, filepath.Join(dir, "a.onnx"))
	s := settings(dir)
	s.Poll = 50 * time.Millisecond
	set, log := watched(t, s)
	link(t, write(t, t.TempDir(), "y", version("2")), middle)
	eventually(t, "version 2", log, func() bool { return note(t, set, "a") == "2" })
}

// Reloads leave nothing on the heap.
func TestReloadsLeaveNoMemory(t *testing.T) {
	const reloads = 200
	dir := t.TempDir()
	path := write(t, dir, "a", version("0"))
	set, err := Open(t.Context(), settings(dir), orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	files := [2][]byte{content(t, version("1")), content(t, version("2"))}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one finalised
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var before int64
	for i := range 20 + reloads {
		if i == 20 { // pools are filled
			before = heap()
		}
		put(t, path, files[i%2])
		if c := set.Reload(t.Context()); c[0].Verdict != Replaced {
			t.Fatalf("reload %d: %v", i, c)
		}
	}
	if each := (heap() - before) / reloads; each > 500 {
		t.Errorf("every reload leaves %d bytes", each)
	}
}
