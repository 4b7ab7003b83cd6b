package session

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/internal/config"
)

func mustOpen(t testing.TB, s Settings) *Sessions {
	t.Helper()
	out, err := Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

// talk answers a turn of a conversation by one expert.
func talk(s *Sessions, settings Settings, name, turns int, now time.Time) (number int) {
	messages := []Message{{User: true, Raw: fmt.Appendf(nil, "conversation %d", name)}}
	for i := range turns {
		messages = append(messages, Message{Raw: []byte("a")}, Message{User: true, Raw: fmt.Appendf(nil, "turn %d", i)})
	}
	e := Expert{Name: "a", Cache: "a", Price: func(float64) (Price, bool) { return Price{1, 0.1, 1, time.Hour}, true }}
	p := Policy{Digest: "p", Experts: []Expert{e}, Advice: make([]Advice, 1)}
	t := s.Begin(now, settings, Facts{Bytes: 4000 + 400*turns, Messages: messages})
	plan := t.Plan(&p)
	t.Done(Answer{Plan: plan, Expert: &e, Advice: &p.Advice[0], Tokens: int64(1000 + 100*turns), Cached: 0, Billed: 1})
	return t.Number()
}

// TestMemory: 20,000 conversations take no more memory than their bound says, and the next 20,000 take none. The one that
// was used least recently is forgotten first.
func TestMemory(t *testing.T) {
	settings := DefaultSettings()
	settings.Memory = 5000 * entryBytes
	s, now := mustOpen(t, settings), time.Unix(1e9, 0)
	talk(s, settings, -1, 0, now)
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := used()
	var sizes []int64
	for i := range 20_000 {
		for turn := range 3 {
			if n := talk(s, settings, i, turn, now); n != turn+1 {
				t.Fatalf("turn %d of conversation %d is number %d", turn+1, i, n)
			}
		}
		talk(s, settings, -1, 0, now) // always used
		if i%5000 == 4999 {
			sizes = append(sizes, used()-before)
		}
	}
	c := s.Counts()
	t.Logf("%d bytes for each of %d conversations; after 5,000, 10,000, ...: %v", sizes[0]/int64(c.Open), c.Open, sizes)
	if c.Open != 5000 || c.Evicted != 20_001-5000 || c.Turns != 80_001 || c.Sessions != 20_001 {
		t.Errorf("%+v", c)
	}
	if sizes[3] > int64(settings.Memory) || sizes[3] > sizes[0]*6/5 { // the map of Go grows a little when keys change
		t.Errorf("%v bytes, the bound is %d", sizes, settings.Memory)
	}
	if n := talk(s, settings, -1, 0, now); n != 20_002 {
		t.Errorf("the conversation that was always used is at turn %d", n)
	}
	if n := talk(s, settings, 0, 3, now); n != 1 {
		t.Errorf("the oldest conversation is at turn %d", n)
	}
	runtime.KeepAlive(s)
}

// killEnv names the file of the process that TestKill starts and kills.
const killEnv = "SESSIONS_KILLED"

const killFlush = 20 * time.Millisecond

// TestKill kills a process that answers turns 15 times. Each next one remembers the conversations but for what it did in the
// last moments, and no file is broken.
func TestKill(t *testing.T) {
	if path := os.Getenv(killEnv); path != "" {
		talkUntilKilled(path)
		return
	}
	path := filepath.Join(t.TempDir(), "sessions")
	turn, lost := 0, 0
	for i := range 15 {
		begins, ends, flushed := runAndKill(t, path)
		if i > 0 && begins < turn {
			lost += turn - begins
		}
		if begins > flushed+1 || ends < begins {
			t.Errorf("run %d began with turn %d, ended with %d, of which %d were older than the interval", i, begins, ends, flushed)
		}
		if turn = flushed; ends == 0 {
			t.Fatal("nothing was answered")
		}
	}
	if lost > 0 {
		t.Errorf("%d turns were lost that were older than two intervals", lost)
	}
}

// runAndKill starts a process and kills it. It returns the first and the last turn that it had, and the last one that was older than
// some intervals when it was killed.
func runAndKill(t *testing.T, path string) (first, last, flushed int) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKill$")
	c.Env = append(os.Environ(), killEnv+"="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines, safe := bufio.NewScanner(out), 0
	for lines.Scan() {
		n := 0
		switch _, err := fmt.Sscanf(lines.Text(), "turn %d;", &n); {
		case strings.HasPrefix(lines.Text(), "bad"):
			t.Error(lines.Text())
		case strings.HasPrefix(lines.Text(), "safe"):
			fmt.Sscanf(lines.Text(), "safe %d;", &safe)
			if flushed == 0 && safe > 0 {
				time.AfterFunc(killFlush, func() { _ = c.Process.Signal(syscall.SIGKILL) })
			}
			flushed = safe
		case err == nil:
			if first == 0 {
				first = n
			}
			last = n
		}
	}
	_ = c.Wait()
	return first, last, flushed
}

// talkUntilKilled answers turns of one conversation, and says which of them are surely in the file.
func talkUntilKilled(path string) {
	settings := DefaultSettings()
	settings.File, settings.Flush = config.Path(path), killFlush
	s, err := Open(settings, nil)
	if err != nil {
		fmt.Println("bad", err)
		return
	}
	last, at := 0, time.Now()
	for {
		n := talk(s, settings, 1, 0, time.Now())
		fmt.Printf("turn %d;\n", n)
		if changed := fileTime(path); changed.After(at) { // all that was answered before it was written
			if last > 0 {
				fmt.Printf("safe %d;\n", last)
			}
			last, at = n, time.Now()
		}
		time.Sleep(time.Millisecond)
	}
}

func fileTime(path string) time.Time {
	about, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return about.ModTime()
}

// A file that is not one, or of another key, is refused by name. One that is there is read.
func TestFiles(t *testing.T) {
	settings := DefaultSettings()
	path := filepath.Join(t.TempDir(), "sessions")
	settings.File, settings.Key = config.Path(path), "secret"
	s, err := Open(settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	for i := range 100 {
		talk(s, settings, i, 0, now)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "conversation") || strings.Contains(string(text), "secret") {
		t.Error("the file has a text")
	}
	again, err := Open(settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if n := talk(again, settings, i, 1, now); n != 2 {
			t.Fatalf("conversation %d is at turn %d", i, n)
		}
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	settings.Key = "other"
	if _, err := Open(settings, nil); err == nil || !strings.Contains(err.Error(), "user_key") || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	settings.Key = "secret"
	flipped := append([]byte(nil), text...)
	flipped[len(text)/2] ^= 1
	for want, bad := range map[string][]byte{"not a file of sessions": []byte("hello"), "not a file": {}, "checksum": flipped, "is not": text[:len(text)-1]} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(settings, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", want, err)
		}
	}
	settings.File = config.Path(t.TempDir())
	if _, err := Open(settings, nil); err == nil {
		t.Error("a folder is a file")
	}
}

// FuzzDecode reads any file without a panic; what it accepts is written again as it was.
func FuzzDecode(f *testing.F) {
	var check Key
	good, err := encode(check, []entry{{Turn: 1, N: 1}, {}})
	f.Add(good)
	f.Fuzz(func(t *testing.T, text []byte) {
		all, bad := decode(text, check)
		if bad != nil {
			return
		}
		again, err := encode(check, all)
		if errors.Join(err) != nil || string(again) != string(text) {
			t.Error("another file", err)
		}
	})
	_ = err
}

func TestSettings(t *testing.T) {
	good := DefaultSettings()
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		"header: \"a b\"": func(s *Settings) { s.Header = "a b" }, "header: \"authorization\"": func(s *Settings) { s.Header = "authorization" },
		"ttl: is 0s": func(s *Settings) { s.TTL = 0 }, "turns: is -1": func(s *Settings) { s.Turns = -1 },
		"sessions: is 0": func(s *Settings) { s.Sessions = 0 }, "memory: is 1": func(s *Settings) { s.Memory = 1 }, "flush: is 0s": func(s *Settings) { s.Flush = 0 },
	} {
		s := DefaultSettings()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
