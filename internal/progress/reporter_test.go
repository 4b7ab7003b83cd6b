package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestProgressIsSilentOffTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := NewProgress(f, true)
	p.Start(3, "rows")
	p.Add(2)
	p.Done()
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("a file received %d bytes of progress (%v)", info.Size(), err)
	}
	if NewProgress(&bytes.Buffer{}, false) != Quiet {
		t.Error("a buffer is not a terminal")
	}
}

func TestBarCountsAndRestarts(t *testing.T) {
	var out bytes.Buffer
	b := &bar{w: &out}
	b.Add(1) // before Start: ignored
	b.Start(10, "first")
	b.Add(10)
	b.Start(-1, "second")
	b.Add(5)
	b.Done()
	b.Done()
	for _, want := range []string{"first", "0/10", "second"} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("bar output %q lacks %q", out.String(), want)
		}
	}
}
