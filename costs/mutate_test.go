package costs

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Damaged files give an error or a valid tensor and never a panic: the Parquet
// library panics on some of them, which must stop at our boundary.
func TestDamagedFilesNeverPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := Write(path, testTensor(1, 40, 3, testActions(2, 2))); err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	const rounds = 1500
	for i := range rounds {
		b := [][]byte{ours, goodRaw().bytes(t)}[i%2]
		b = append([]byte(nil), b...)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		tensor, err := Read(path, ReadOptions{})
		var data *DataError
		switch {
		case err == nil:
			if err := tensor.Validate(); err != nil {
				t.Fatalf("round %d: read and invalid: %v", i, err)
			}
		case !errors.As(err, &data):
			t.Fatalf("round %d: error of another kind: %v", i, err)
		default:
			refused++
		}
		drain(path, 7)
		openTableAndRead(t, path)
	}
	if refused < rounds/10 {
		t.Errorf("only %d of %d damaged files were refused", refused, rounds)
	}
}
