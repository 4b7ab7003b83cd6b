package bm25

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pipe/internal/storage"
)

const childPages, childOut = "PIPE_BM25_CHILD_PAGES", "PIPE_BM25_CHILD_OUT"

// TestMain turns the binary into a build when a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv(childPages) == "" {
		os.Exit(m.Run())
	}
	_, err := Build(context.Background(), BuildOptions{Pages: storage.File(os.Getenv(childPages)), Out: storage.File(os.Getenv(childOut)), Settings: DefaultSettings(), Memory: 1 << 18})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A build that is killed leaves no index or the whole one, and the next build
// leaves nothing else.
func TestKilledBuilds(t *testing.T) {
	pages := written(t, 2, randomPages(rand.New(rand.NewPCG(11, 12)), 8000, 2000))
	start := func(out string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childPages+"="+pages, childOut+"="+out)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	begin := time.Now()
	whole := filepath.Join(t.TempDir(), "x")
	if err := start(whole).Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "x")
	r, killed := rand.New(rand.NewPCG(13, 14)), 0
	kills := 15
	if testing.Short() {
		kills = 4
	}
	for range kills {
		cmd := start(out)
		time.AfterFunc(time.Duration(r.Int64N(int64(took))), func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		if got, err := os.ReadFile(out); err == nil && string(got) != string(want) {
			t.Fatal("a kill left an index that is not the whole one")
		}
	}
	if err := start(out).Wait(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(files) != 1 || killed == 0 {
		t.Errorf("after %d kills there are %v, %v", killed, files, err)
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != string(want) {
		t.Errorf("the bytes differ after %d kills: %v", killed, err)
	}
}
