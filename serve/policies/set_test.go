package policies

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
)

const dim = 6

// write writes a policy file into a folder, by renaming.
func write(t testing.TB, folder, name string, p *policy.Policy) string {
	t.Helper()
	path := filepath.Join(folder, name+".onnx")
	if err := os.Rename(decidetest.WritePolicy(t, p), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// version is a policy that differs from others by its note.
func version(note string) *policy.Policy {
	p := decidetest.Policy(dim, 4)
	p.Info = map[string]string{"note": note}
	return p
}

// settings are those of tests: quick to settle.
func settings(paths ...string) Settings {
	s := DefaultSettings()
	s.Paths, s.Workers, s.Settle, s.Poll = paths, 2, 30e6, 0
	return s
}

// open opens a set, which is closed at the end.
func open(t testing.TB, s Settings) *Set {
	t.Helper()
	set, err := Open(t.Context(), s, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// acquire leases a policy until the end.
func acquire(t testing.TB, s *Set, name string) *Policy {
	t.Helper()
	p, err := s.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

// numbers are features of n rows.
func numbers(seed uint64, n int) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestPoliciesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", version("1"))
	write(t, dir, "b", decidetest.AnyPrice(dim))
	for name, text := range map[string]string{"a.json": "{}", ".a.onnx": "x", "b.onnx.tmp": "x", "broken.onnx": "not a policy"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := settings(dir, filepath.Join(dir, "a.onnx"), dir+"/")
	set := open(t, s)
	if names := set.Names(); !slices.Equal(names, []string{"a", "b"}) {
		t.Fatalf("the names are %q", names)
	}
	p := acquire(t, set, "a")
	if again := acquire(t, set, "a@"+p.Digest[:8]); again != p {
		t.Error("a version by its digest is another")
	}
	for _, name := range []string{"", "c", "a@", "a@0000000000", "a@" + p.Digest[:1], "a@" + p.Digest[:7], "A", "a.onnx", "broken"} {
		var unknown *UnknownError
		if q, err := set.Acquire(name); !errors.As(err, &unknown) {
			t.Errorf("%q is %v, %v", name, q, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	good, empty := write(t, dir, "a", version("1")), t.TempDir()
	broken := filepath.Join(empty, "broken.onnx")
	if err := os.WriteFile(broken, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	other := write(t, t.TempDir(), "a", version("2"))
	for name, change := range map[string]func(s *Settings){
		"no path":         func(s *Settings) { s.Paths = nil },
		"not there":       func(s *Settings) { s.Paths = []string{good, filepath.Join(dir, "b.onnx")} },
		"no folder":       func(s *Settings) { s.Paths = []string{filepath.Join(dir, "b")} },
		"nothing right":   func(s *Settings) { s.Paths = []string{empty} },
		"broken file":     func(s *Settings) { s.Paths = []string{good, broken} },
		"one name twice":  func(s *Settings) { s.Paths = []string{good, other} },
		"unknown default": func(s *Settings) { s.Default = "b" },
		"encoder of none": func(s *Settings) { s.Encoders = map[string]string{"b": "x"} },
		"encoder missing": func(s *Settings) { s.Encoders = map[string]string{"a": filepath.Join(dir, "x.json")} },
		"no rows":         func(s *Settings) { s.BatchRows = 0 },
	} {
		s := settings(good)
		change(&s)
		if set, err := Open(t.Context(), s, orttest.Open(t, 1), nil, nil); err == nil {
			t.Errorf("%s: opened", name)
			set.Close()
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestDecideAndGraphAnswerAsTheRouter(t *testing.T) {
	path := write(t, t.TempDir(), "any", decidetest.AnyPrice(dim))
	set := open(t, settings(path))
	p := acquire(t, set, "")
	r, err := decide.Open(t.Context(), path, decide.Options{Runtime: orttest.Open(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := numbers(1, 5)
	want, err := r.Batch(t.Context(), x, 5)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Decide(t.Context(), nil, x, 5)
	if err != nil || !reflect.DeepEqual(got.Action, want.Action) || !reflect.DeepEqual(got.Cost, want.Cost) {
		t.Errorf("decisions %+v, %v; the router has %+v", got, err, want)
	}
	var row *decide.RowError
	x[dim] = float32(math.NaN())
	if _, err := p.Decide(t.Context(), nil, x, 5); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("NaN: %v", err)
	}
}

func TestCloseWaitsForLeases(t *testing.T) {
	set, err := Open(t.Context(), settings(write(t, t.TempDir(), "a", version("1"))), orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Acquire("a")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- set.Close() }()
	if d, err := p.Decide(context.Background(), nil, numbers(2, 1), 1); err != nil || len(d.Action) != 1 {
		t.Errorf("a leased policy decides %v, %v", d, err)
	}
	select {
	case <-closed:
		t.Error("the set was closed under a lease")
	default:
	}
	p.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := set.Acquire("a"); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed set has a policy: %v", err)
	}
}
