// Package storagetest has a storage in memory, with faults on demand, and the conformance test of storages.
package storagetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/internal/storage"
)

// Memory is a bucket in memory. A test may change its fields before the bucket is used.
type Memory struct {
	// Fault is asked before every request and returns its error, or nil.
	Fault func(op, name string) error
	// After is asked when a request was carried out; its error hides that.
	After func(op, name string) error
	// Cut is asked at every read; a result of at least 0 is after how many bytes the connection breaks.
	Cut func(name string) int

	mu       sync.Mutex
	objects  map[string]object
	requests map[string]int
	bytes    int64
}

type object struct {
	data     []byte
	modified time.Time
	tag      string
}

var (
	register sync.Once
	memories sync.Map // by host
)

// New returns a bucket and its URL, mem://NAME, which every function of package storage takes in this process.
func New(t testing.TB) (m *Memory, url string) {
	register.Do(func() {
		storage.Register("mem", open)
	})
	host := fmt.Sprintf("%x", sha256.Sum256([]byte(t.Name()+time.Now().String())))[:12]
	m = &Memory{objects: map[string]object{}, requests: map[string]int{}}
	memories.Store(host, m)
	t.Cleanup(func() { memories.Delete(host) })
	return m, "mem://" + host
}

func open(_ context.Context, u *url.URL) (storage.Bucket, error) {
	m, ok := memories.Load(u.Host)
	if !ok {
		return nil, &storage.Fault{Msg: "there is no such bucket", Kind: fs.ErrNotExist}
	}
	return m.(*Memory), nil
}

// Requests returns the number of requests of a kind so far: stat, read, write, list, delete; and the bytes that were read.
func (m *Memory) Requests(op string) (n int, read int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[op], m.bytes
}

func (m *Memory) request(ctx context.Context, op, name string) error {
	m.mu.Lock()
	m.requests[op]++
	m.mu.Unlock()
	if m.Fault != nil {
		if err := m.Fault(op, name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *Memory) find(name string) (object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return o, &storage.Fault{Msg: "there is no such object", Kind: fs.ErrNotExist}
	}
	return o, nil
}

// Stat describes an object.
func (m *Memory) Stat(ctx context.Context, name string) (storage.Info, error) {
	if err := m.request(ctx, "stat", name); err != nil {
		return storage.Info{}, err
	}
	o, err := m.find(name)
	return storage.Info{Name: name, Size: int64(len(o.data)), Modified: o.modified, Tag: o.tag}, err
}

type reader struct {
	io.Reader
	tag string
}

func (r reader) Tag() string { return r.tag }
func (reader) Close() error  { return nil }

// broken ends with the error of a lost connection.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Read returns a part of an object.
func (m *Memory) Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error) {
	if err := m.request(ctx, "read", name); err != nil {
		return nil, err
	}
	o, err := m.find(name)
	if err != nil {
		return nil, err
	}
	data := o.data[min(from, int64(len(o.data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	cut := -1
	if m.Cut != nil {
		cut = m.Cut(name)
	}
	var in io.Reader = bytes.NewReader(data)
	if cut >= 0 && cut < len(data) {
		data = data[:cut]
		in = io.MultiReader(bytes.NewReader(data), broken{})
	}
	m.mu.Lock()
	m.bytes += int64(len(data))
	m.mu.Unlock()
	return reader{in, o.tag}, nil
}

// Write stores an object.
func (m *Memory) Write(ctx context.Context, name string, body io.ReadSeeker, o storage.WriteOptions) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := m.request(ctx, "write", name); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[name]; there && o.IfNotExist {
		return &storage.Fault{Msg: "it exists already", Kind: fs.ErrExist}
	}
	m.objects[name] = object{data, time.Now(), hex.EncodeToString(sum[:8])}
	if m.After != nil {
		return m.After("write", name)
	}
	return nil
}

// List yields objects by name.
func (m *Memory) List(ctx context.Context, prefix string) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		if err := m.request(ctx, "list", prefix); err != nil {
			yield(storage.Info{}, err)
			return
		}
		m.mu.Lock()
		objects := maps.Clone(m.objects)
		m.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			o := objects[name]
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if !yield(storage.Info{Name: name, Size: int64(len(o.data)), Modified: o.modified, Tag: o.tag}, nil) {
				return
			}
		}
	}
}

// Delete removes an object.
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := m.request(ctx, "delete", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

// Close does nothing.
func (*Memory) Close() error { return nil }

// At is the location of a path or URL.
func At(t testing.TB, pathOrURL string) storage.Location {
	t.Helper()
	at, err := storage.Parse(pathOrURL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Folder opens the folder of a path or URL.
func Folder(t testing.TB, pathOrURL string) *storage.Folder {
	t.Helper()
	f, err := At(t, pathOrURL).Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
