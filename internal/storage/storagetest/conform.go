package storagetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pipe/internal/storage"
)

// Conform checks that an empty folder of a storage keeps the contract of storage.Bucket.
func Conform(t *testing.T, f *storage.Folder) {
	t.Run("what is written is read", func(t *testing.T) { roundTrip(t, f.Sub("round")) })
	t.Run("ranges", func(t *testing.T) { ranges(t, f.Sub("ranges")) })
	t.Run("lists", func(t *testing.T) { lists(t, f.Sub("lists")) })
	t.Run("what is not there", func(t *testing.T) { nothing(t, f.Sub("nothing")) })
	t.Run("one of many writers", func(t *testing.T) { racers(t, f.Sub("racers")) })
	t.Run("whole or not at all", func(t *testing.T) { whole(t, f.Sub("whole")) })
}

func read(t *testing.T, f *storage.Folder, name string) []byte {
	t.Helper()
	data, err := f.ReadFile(t.Context(), name, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, f *storage.Folder, name string, data []byte) {
	t.Helper()
	if err := f.WriteFile(t.Context(), name, data, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pattern is n bytes, no two megabytes of which are equal.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i) ^ byte(i>>8)*31 ^ byte(i>>16)*17
	}
	return data
}

// Any bytes under any name come back, also after they were replaced; the tag tells other bytes apart.
func roundTrip(t *testing.T, f *storage.Folder) {
	for _, name := range []string{"a", "b/c/d.json", "with space", "per%20cent", "ünicode", "plus+&=#"} {
		var tags []string
		bodies := [][]byte{{}, []byte("x"), pattern(70_000)}
		if name == "a" {
			bodies = append(bodies, pattern(11<<20)) // more than one part of an upload
		}
		for _, data := range bodies {
			write(t, f, name, data)
			if got := read(t, f, name); !bytes.Equal(got, data) {
				t.Fatalf("%q has %d bytes, want the %d that were written", name, len(got), len(data))
			}
			info, err := f.Stat(t.Context(), name)
			if err != nil || info.Size != int64(len(data)) || info.Name != name || info.Modified.IsZero() || slices.Contains(tags, info.Tag) {
				t.Errorf("%q: %+v, %v; tags %v", name, info, err, tags)
			}
			tags = append(tags, info.Tag)
		}
		if err := f.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}

func ranges(t *testing.T, f *storage.Folder) {
	data := pattern(100_000)
	write(t, f, "x", data)
	for _, c := range []struct{ from, length int64 }{{0, -1}, {0, 0}, {0, 1}, {99_999, 1}, {99_990, 100}, {100_000, 5}, {100_000, -1}, {12_345, 54_321}, {500, -1}} {
		r, err := f.Read(t.Context(), "x", c.from, c.length)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got, err := io.ReadAll(r)
		want := data[c.from:]
		if c.length >= 0 {
			want = want[:min(c.length, int64(len(want)))]
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %d bytes, %v; want %d", c, len(got), err, len(want))
		}
		if err := r.Close(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Lists are sorted by bytes and hold exactly the names with the prefix.
func lists(t *testing.T, f *storage.Folder) {
	names := []string{"a", "a-b", "a.b", "b/c", "b/d", "b0", "bb/x/y"}
	for _, name := range names {
		write(t, f, name, []byte(name))
	}
	for _, prefix := range []string{"", "a", "b", "b/", "b/c", "bb/x", "z"} {
		var want, got []string
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		for info, err := range f.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if info.Size != int64(len(info.Name)) {
				t.Errorf("%+v", info)
			}
			got = append(got, info.Name)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
}

func nothing(t *testing.T, f *storage.Folder) {
	_, stat := f.Stat(t.Context(), "none")
	r, read := f.Read(t.Context(), "none", 0, -1)
	if read == nil {
		_, read = io.ReadAll(r)
	}
	for op, err := range map[string]error{"stat": stat, "read": read} {
		var named *storage.Error
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &named) || !strings.HasSuffix(named.URL, "none") {
			t.Errorf("%s of what is not there: %v", op, err)
		}
	}
	if err := f.Delete(t.Context(), "none"); err != nil {
		t.Errorf("delete what is not there: %v", err)
	}
}

// Of many that write a name IfNotExist exactly one succeeds, and its bytes stay; the others get fs.ErrExist.
func racers(t *testing.T, f *storage.Folder) {
	const each = 32
	for round := range 4 {
		name := fmt.Sprint("claim", round)
		var won atomic.Int32
		var winner atomic.Value
		var all sync.WaitGroup
		for i := range each {
			all.Go(func() {
				mine := fmt.Sprint("racer ", i)
				err := f.WriteFile(t.Context(), name, []byte(mine), storage.WriteOptions{IfNotExist: true})
				switch {
				case err == nil:
					won.Add(1)
					winner.Store(mine)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := string(read(t, f, name)); won.Load() != 1 || got != winner.Load() {
			t.Errorf("%d of %d writers succeeded, the last is %v; the object holds %q", won.Load(), each, winner.Load(), got)
		}
	}
	large := make([]byte, storage.MaxClaim+1)
	if err := f.WriteFile(t.Context(), "large", large, storage.WriteOptions{IfNotExist: true}); err == nil {
		t.Error("a large object was written IfNotExist")
	}
}

// failing fails in the middle.
type failing struct{ body *bytes.Reader }

var errBody = errors.New("the disk is gone")

func (b failing) Read(p []byte) (int, error) {
	if b.body.Len() < 1<<20 {
		return 0, errBody
	}
	return b.body.Read(p)
}

func (b failing) Seek(at int64, from int) (int64, error) { return b.body.Seek(at, from) }

// A body that fails leaves what was there.
func whole(t *testing.T, f *storage.Folder) {
	write(t, f, "x", []byte("old"))
	for _, name := range []string{"x", "y"} {
		err := f.Write(t.Context(), name, failing{bytes.NewReader(pattern(7 << 20))}, storage.WriteOptions{})
		if !errors.Is(err, errBody) && (err == nil || !strings.Contains(err.Error(), errBody.Error())) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := read(t, f, "x"); string(got) != "old" {
		t.Errorf("x has %d bytes", len(got))
	}
	for info, err := range f.List(t.Context(), "") {
		if err != nil || info.Name != "x" {
			t.Errorf("there is %+v, %v", info, err)
		}
	}
}
