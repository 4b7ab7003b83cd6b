package shards

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

// One of several workers makes what all need; a worker that was killed at it is followed by another.
func TestFolder(t *testing.T) {
	work, err := storage.OpenFolder(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := take(t.Context(), work, "shared/experts.claim.1", "killed"); err != nil || !ok {
		t.Fatal(err)
	}
	var makers atomic.Int64
	var group sync.WaitGroup
	for range 3 {
		folder := t.TempDir()
		group.Go(func() {
			made, err := Folder(t.Context(), work, "experts", folder, MinLease, func() ([]string, error) {
				makers.Add(1)
				return []string{"a", "b"}, errors.Join(os.WriteFile(filepath.Join(folder, "a"), []byte("first"), 0o666), os.WriteFile(filepath.Join(folder, "b"), nil, 0o666))
			})
			b, read := os.ReadFile(filepath.Join(folder, "a"))
			if err != nil || read != nil || string(b) != "first" {
				t.Errorf("%v: %q, %v, %v", made, b, err, read)
			}
		})
	}
	group.Wait()
	if makers.Load() != 1 {
		t.Errorf("%d workers made it", makers.Load())
	}
}

// What is shared is made once. It is an error that it was changed, or does not fit the work.
func TestShare(t *testing.T) {
	work := t.TempDir()
	folder := openLines(t, newLines(1, 1), quick(work)).Folder()
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
		var hint *strangerError
		if _, err := share(); !errors.As(err, &bad) || bad.File != path || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "writes it again") {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}
