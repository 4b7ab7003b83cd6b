package costs

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// Damaged files of every codec give an error or a valid tensor, never a panic,
// and take no more memory than their size allows.
func TestDamagedFilesNeverPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := Write(path, testTensor(1, 40, 3, testActions(2, 2))); err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := [][]byte{ours}
	for _, codec := range []compress.Codec{nil, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		raw := goodRaw()
		raw.codec = codec
		files = append(files, raw.bytes(t))
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	const rounds = 1500
	for i := range rounds {
		b := append([]byte(nil), files[i%len(files)]...)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tensor, err := Read(path, ReadOptions{})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Fatalf("round %d: %d bytes for a file of %d", i, used, len(b))
		}
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
