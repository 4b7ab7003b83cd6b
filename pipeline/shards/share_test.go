package shards

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pipe/internal/digest"
	"pipe/internal/hint"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// slowStorage is a bucket each request to which takes a time that seed draws, by the clock of a bubble. No time is so
// long that a worker that is alive looks lost.
func slowStorage(t *testing.T, seed uint64) (work string) {
	memory, work := storagetest.New(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	memory.Fault = func(string, string) error {
		mu.Lock()
		wait := time.Duration(draw.IntN(1000)) * time.Millisecond
		mu.Unlock()
		time.Sleep(wait)
		return nil
	}
	return work + "/work"
}

// Whatever the order of their requests, one of several workers makes what all need, and all have it. A worker that was
// killed at it, or fails, is followed by another.
func TestFolder(t *testing.T) {
	for seed := range uint64(300) {
		work := slowStorage(t, seed)
		killed, failing := seed%3 == 1, seed%4 == 1
		synctest.Test(t, func(t *testing.T) { oneMakes(t, work, seed, killed, failing) })
	}
}

func oneMakes(t *testing.T, url string, seed uint64, killed, failing bool) {
	work, err := storagetest.At(t, url).Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if killed {
		if ok, err := take(t.Context(), work, "shared/experts.claim.1", "killed"); err != nil || !ok {
			t.Fatal(err)
		}
	}
	draw := rand.New(rand.NewPCG(seed, 1))
	sick := errors.New("no luck")
	var makers, failed atomic.Int64
	var group sync.WaitGroup
	for range 3 {
		folder, late, takes := t.TempDir(), time.Duration(draw.IntN(3000)), time.Duration(draw.IntN(5000))
		group.Go(func() {
			time.Sleep(late * time.Millisecond)
			made, err := Folder(t.Context(), work, "experts", folder, MinLease, func() ([]string, error) {
				time.Sleep(takes * time.Millisecond)
				if failing && failed.CompareAndSwap(0, 1) {
					return nil, sick
				}
				makers.Add(1)
				return []string{"a", "b"}, errors.Join(os.WriteFile(filepath.Join(folder, "a"), []byte("first"), 0o666), os.WriteFile(filepath.Join(folder, "b"), nil, 0o666))
			})
			if errors.Is(err, sick) {
				return
			}
			b, read := os.ReadFile(filepath.Join(folder, "a"))
			if err != nil || read != nil || string(b) != "first" {
				t.Errorf("%v: %q, %v, %v", made, b, err, read)
			}
		})
	}
	group.Wait()
	if makers.Load() != 1 || failing != (failed.Load() == 1) {
		t.Fatalf("seed %d: %d workers made it, %d failed", seed, makers.Load(), failed.Load())
	}
	for info, err := range work.List(t.Context(), "shared/experts.claim.") {
		t.Errorf("seed %d: a claim stays: %v, %v", seed, info.Name, err)
	}
}

// A shard that another worker finishes between a look at it and the claim is not made again.
func TestRunAfterAnotherRun(t *testing.T) {
	memory, url := storagetest.New(t)
	s := newLines(2, 4)
	first, second := openLines(t, s, quick(t, url+"/work")), openLines(t, s, quick(t, url+"/work"))
	between := false
	memory.Fault = func(op, name string) error {
		if op != "write" || !strings.Contains(name, "claims/") || between {
			return nil
		}
		between = true
		_, _, err := first.Run(t.Context(), 0)
		return err
	}
	if d, made, err := second.Run(t.Context(), 0); err != nil || made || d == nil || s.runs.Load() != 1 {
		t.Errorf("%d runs; made %v, %v", s.runs.Load(), made, err)
	}
}

// What is shared is made once. It is an error that it was changed, or does not fit the work.
func TestShare(t *testing.T) {
	work := t.TempDir()
	folder := openLines(t, newLines(1, 1), quick(t, work)).Folder()
	made := 0
	share := func() (*[]int, error) {
		valid := func(v *[]int) bool { return len(*v) == 2 }
		return Share(t.Context(), folder, "list.json", valid, func() (*[]int, error) { made++; return &[]int{3, made}, nil })
	}
	for range 2 {
		if v, err := share(); err != nil || (*v)[1] != 1 {
			t.Errorf("%v, %v", v, err)
		}
	}
	path := filepath.Join(work, "shared", "list.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := `{"digest": "` + digest.Of([]byte("[3]")) + `", "content": [3]}`
	for _, text := range []string{"", "null", "[[[", strings.Replace(string(good), "[3,1]", "[3,2]", 1), short, strings.Repeat(" ", storage.MaxClaim+1)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var bad *DataError
		var how *hint.Error
		if _, err := share(); !errors.As(err, &bad) || bad.File != path || !errors.As(err, &how) || !strings.Contains(how.Hint(), "writes it again") {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}
