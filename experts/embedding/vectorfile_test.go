package embedding

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/parttest"
	"pipe/internal/fuzztest"
)

// someVectors returns n texts and vectors of two numbers.
func someVectors(from, n int) (texts []string, values []float32) {
	for i := from; i < from+n; i++ {
		texts, values = append(texts, fmt.Sprintf("text %d", i)), append(values, float32(i), -float32(i)/3)
	}
	return texts, values
}

func openTestVectors(t *testing.T, path, encoder string) *vectorFile {
	t.Helper()
	f, err := openVectors(t.Context(), path, encoder, 2)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// add appends vectors as a build does.
func (f *vectorFile) add(t *testing.T, from, n int) {
	t.Helper()
	texts, values := someVectors(from, n)
	if err := f.Add(t.Context(), texts, values); err != nil {
		t.Fatal(err)
	}
}

// holds checks which of the first vectors are there, bit for bit.
func (f *vectorFile) holds(t *testing.T, n int, absent ...int) {
	t.Helper()
	texts, values := someVectors(0, n)
	for i, text := range texts {
		got := f.Get(text)
		if slices.Contains(absent, i) != (got == nil) || got != nil && !slices.Equal(got, values[2*i:2*i+2]) {
			t.Errorf("%q: %v, want %v unless it is one of %v", text, got, values[2*i:2*i+2], absent)
		}
	}
}

func TestVectorsSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	f := openTestVectors(t, path, "one")
	f.add(t, 0, 3)
	f.add(t, 3, 2*recordsRead)
	f.holds(t, 3+2*recordsRead)
	openTestVectors(t, path, "one").holds(t, 3+2*recordsRead)
}

// TestTornVectorsAreCutAway cuts a file at every length: what is whole before
// the cut is there, and the rest can be added again to the same bytes.
func TestTornVectorsAreCutAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	f := openTestVectors(t, path, "one")
	f.add(t, 0, 4)
	whole, head, size := parttest.Read(t, path), len(f.head), int(f.recordSize())
	for cut := range whole {
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		g, kept := openTestVectors(t, path, "one"), max(0, cut-head)/size
		for i, text := range []string{"text 0", "text 1", "text 2", "text 3"} {
			if there := g.Get(text) != nil; there != (i < kept) {
				t.Fatalf("cut at %d: %q is there: %t", cut, text, there)
			}
		}
		g.add(t, kept, 4-kept)
		if parttest.Read(t, path) != whole {
			t.Fatalf("cut at %d: added again, the bytes differ", cut)
		}
	}
}

// TestDamagedVectorIsAbsent flips every byte of the second record.
func TestDamagedVectorIsAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	f := openTestVectors(t, path, "one")
	f.add(t, 0, 3)
	whole, from := []byte(parttest.Read(t, path)), len(f.head)+int(f.recordSize())
	for at := from; at < from+int(f.recordSize()); at++ {
		b := slices.Clone(whole)
		b[at] ^= 0x10
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		openTestVectors(t, path, "one").holds(t, 3, 1)
	}
}

// TestOtherVectorsAreBegunAnew opens the file of another encoder and of another
// program.
func TestOtherVectorsAreBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	openTestVectors(t, path, "one").add(t, 0, 3)
	f := openTestVectors(t, path, "two")
	f.holds(t, 3, 0, 1, 2)
	f.add(t, 0, 1)
	f.holds(t, 3, 1, 2)
	if err := os.WriteFile(path, []byte(strings.Repeat("something else", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	openTestVectors(t, path, "two").holds(t, 3, 0, 1, 2)
}

// TestBuildsShareVectors appends from two sides.
func TestBuildsShareVectors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	a, b := openTestVectors(t, path, "one"), openTestVectors(t, path, "one")
	a.add(t, 0, 2)
	b.add(t, 2, 2)
	b.holds(t, 4)
	a.holds(t, 4, 2, 3)
	a.add(t, 4, 1)
	a.holds(t, 5)
	openTestVectors(t, path, "one").holds(t, 5)
}

// TestVectorsCutByOthers cuts the file at every length while it is open: what is
// added then is there again.
func TestVectorsCutByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	openTestVectors(t, path, "one").add(t, 0, 3)
	whole := parttest.Read(t, path)
	for cut := range whole {
		if err := os.WriteFile(path, []byte(whole), 0o666); err != nil {
			t.Fatal(err)
		}
		f := openTestVectors(t, path, "one")
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		f.add(t, 3, 1)
		f.holds(t, 4)
		if openTestVectors(t, path, "one").Get("text 3") == nil {
			t.Fatalf("cut at %d: what was added is lost", cut)
		}
	}
}

// FuzzVectorFile: whatever follows the first line, whole records of the right checksum are the vectors, and what is added is
// there when the file is opened again.
func FuzzVectorFile(f *testing.F) {
	key, other := keyOf("a"), keyOf("b")
	two := appendRecord(appendRecord(nil, key, []float32{1, -2}), other, []float32{0.5, float32(math.Inf(1))})
	f.Add([]byte("a\x00\x00\x80\x3f"), two, true)
	f.Add([]byte{}, two[:50], true)
	f.Add([]byte("pipe vectors 1, 2 numbers each"), []byte("\n"), false)
	path := string(fuzztest.NewFile(f, "vectors"))
	f.Fuzz(func(t *testing.T, sound, rest []byte, headed bool) {
		const dim = 2
		var b []byte
		want := map[textKey][2]uint32{}
		if headed {
			b = vectorHead("e", dim)
			for chunk := range slices.Chunk(sound, 2*4) {
				if len(chunk) < 2*4 {
					break
				}
				key := textKey(sha256.Sum256(chunk))
				v := []float32{math.Float32frombits(uint32(chunk[0]) | uint32(chunk[1])<<24), float32(chunk[2])}
				b, want[key] = appendRecord(b, key, v), [2]uint32{math.Float32bits(v[0]), math.Float32bits(v[1])}
			}
		}
		fuzztest.File(path).Write(t, append(b, rest...))
		for range 2 {
			v, err := openVectors(t.Context(), path, "e", dim)
			if err != nil {
				t.Fatal(err)
			}
			for key, bits := range want {
				if got := v.vectors[key]; len(got) != dim || math.Float32bits(got[0]) != bits[0] || math.Float32bits(got[1]) != bits[1] {
					t.Fatalf("%v, want %v", got, bits)
				}
			}
			for _, got := range v.vectors {
				if len(got) != dim {
					t.Fatalf("a vector of %d numbers", len(got))
				}
			}
			if err := v.Add(t.Context(), []string{"new"}, []float32{3, 4}); err != nil || len(v.Get("new")) != dim {
				t.Fatal(err)
			}
			want[keyOf("new")] = [2]uint32{math.Float32bits(3), math.Float32bits(4)}
		}
	})
}
