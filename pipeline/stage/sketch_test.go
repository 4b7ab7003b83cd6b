package stage

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/storage"
)

// TestSketch: the same bytes under the same name have the same sketch in any folder; another size, and other bytes in a
// small file or at either end of a large one, have another.
func TestSketch(t *testing.T) {
	of := func(name string, b []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Sketch(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	small, large := []byte("some text"), bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	for _, b := range [][]byte{small, large} {
		if one, two := of("a", b), of("a", b); one != two {
			t.Error("two sketches of the same file differ")
		}
		changed := [][]byte{append(bytes.Clone(b), 'x'), b[:len(b)-1]}
		for _, at := range []int{0, len(b) - 1} {
			other := bytes.Clone(b)
			other[at] ^= 1
			changed = append(changed, other)
		}
		for i, other := range changed {
			if of("a", b) == of("a", other) {
				t.Errorf("change %d of %d bytes is not seen", i, len(b))
			}
		}
	}
	if of("a", small) == of("b", small) {
		t.Error("another name is not seen")
	}
	if _, err := Sketch(t.Context(), storage.File(filepath.Join(t.TempDir(), "none"))); err == nil {
		t.Error("a file that is not there has a sketch")
	}
}
