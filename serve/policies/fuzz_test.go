package policies

import (
	"os"
	"path/filepath"
	"testing"

	"pipe/pipeline/decide/decidetest"
)

// Whatever bytes a file has, a reload refuses it and the version before it decides, or serves it and it decides.
func FuzzReload(f *testing.F) {
	good := content(f, version("good"))
	f.Add(good, 0, byte(0))
	f.Add(content(f, decidetest.AnyPrice(dim)), 100, byte(7))
	for _, at := range []int{1, 50, len(good) / 2, len(good) - 3} {
		f.Add(good, at, byte(0xff))
		f.Add(good[:at], 0, byte(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at int, change byte) {
		if len(b) > 0 {
			b = append([]byte(nil), b...)
			b[uint(at)%uint(len(b))] ^= change
		}
		path := filepath.Join(t.TempDir(), "a.onnx")
		if err := os.WriteFile(path, good, 0o666); err != nil {
			t.Fatal(err)
		}
		set := open(t, settings(path))
		put(t, path, b)
		changes := set.Reload(t.Context())
		p, err := set.Acquire("a")
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", err, changes)
		}
		defer p.Release()
		if refused := changes[0].Verdict == Refused; refused && p.Info().Info["note"] != "good" || refused != (changes[0].Reason != "") {
			t.Fatalf("%v, %v is served", changes, p.Info())
		}
		// A file with other numbers may be unable to decide on these rows, but says so.
		n := 2
		if d, err := p.Decide(t.Context(), nil, make([]float32, n*p.Info().Dim), n); err == nil && len(d.Action) != n {
			t.Fatalf("%v", d)
		}
	})
}
