package policies

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pipe/pipeline/decide/decidetest"
)

// contentsOf is what a set serves under a name, and the contents of its file and of the one before.
func (s *Set) contentsOf(t *testing.T, name string) (digest, now, before string) {
	t.Helper()
	p, err := s.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	text, err := os.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	previous, err := os.ReadFile(p.File + PreviousEnding)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return p.Digest, string(text), string(previous)
}

// TestReplaceAndRestore: a file gets the content of another one while requests run, and its own one back. Both can be done again.
func TestReplaceAndRestore(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "live", decidetest.Policy(6, 4))
	write(t, folder, "next", decidetest.Policy(6, 5))
	set := open(t, settings(folder))
	old, oldText, _ := set.contentsOf(t, "live")
	next, nextText, _ := set.contentsOf(t, "next")
	stop := load(t, set, "live")
	defer func() {
		if n := stop(); n == 0 {
			t.Error("nothing was decided")
		}
	}()
	for range 2 {
		if err := set.Replace(t.Context(), "live", old, "next", next); err != nil {
			t.Fatal(err)
		}
		if digest, now, before := set.contentsOf(t, "live"); digest != next || now != nextText || before != oldText {
			t.Errorf("after the replacement: %s", digest)
		}
	}
	if err := set.Replace(t.Context(), "live", old, "next", old); !errors.As(err, new(*ChangedError)) {
		t.Errorf("another version: %v", err)
	}
	if err := set.Replace(t.Context(), "nobody", old, "next", next); !errors.As(err, new(*UnknownError)) {
		t.Errorf("an unknown policy: %v", err)
	}
	for range 2 {
		if err := set.Restore(t.Context(), "live", next, old); err != nil {
			t.Fatal(err)
		}
		if digest, now, before := set.contentsOf(t, "live"); digest != old || now != oldText || before != "" {
			t.Errorf("after the step back: %s", digest)
		}
	}
	if err := set.Restore(t.Context(), "live", next, next); !errors.As(err, new(*ChangedError)) {
		t.Errorf("another version: %v", err)
	}
}

// TestReplacePutsBack: content that cannot be served under the name does not stay in the file.
func TestReplacePutsBack(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "live", decidetest.Policy(6, 4))
	write(t, folder, "next", decidetest.Policy(6, 5))
	set := open(t, settings(folder))
	old, oldText, _ := set.contentsOf(t, "live")
	next, _, _ := set.contentsOf(t, "next")
	set.settings.WarmUp = time.Nanosecond // no new version is warm in time
	if err := set.Replace(t.Context(), "live", old, "next", next); !errors.As(err, new(*NotServedError)) {
		t.Fatal(err)
	}
	if digest, now, before := set.contentsOf(t, "live"); digest != old || now != oldText || before != "" {
		t.Errorf("%s is served", digest)
	}
	if list, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(list) != 2 {
		t.Errorf("%v: %v", list, err)
	}
}
