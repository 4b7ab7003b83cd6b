package costs

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"pipe/internal/judge"
	"pipe/internal/storage"
)

// Damaged files of every codec give an error or a valid tensor, never a panic,
// and take no more memory than their size allows.
func TestDamagedFilesNeverPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	tensor := testTensor(1, 40, 3, testActions(2, 2))
	tensor.Facts = factsFor(tensor, 1, 3)
	if err := Write(t.Context(), storage.File(path), tensor); err != nil {
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
		tensor, err := Read(t.Context(), storage.File(path), ReadOptions{})
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

const smallTable = makeTable + `
import pyarrow as pa, pyarrow.parquet as pq
n = 60
t = pa.table({"id": ids[:n], "split": split[:n], "features": list(x[:n]), "loss": list(loss[:n])}).replace_schema_metadata({"pipe.actions": actions})
for codec in "none", "snappy", "gzip", "brotli", "zstd", "lz4":
  for version in "1.0", "2.0":
    for checksum in False, True:
      pq.write_table(t, "%s-%s-%s.parquet" % (codec, version, checksum), compression=codec, data_page_version=version,
        write_page_checksum=checksum, use_dictionary=["split"], write_statistics=False)
`

// Three changed bytes in the pages of a pyarrow file give an error or values,
// in bounded memory. With page checksums the values are the right ones.
func TestDamagedPagesOfPyArrow(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow")
	dir := t.TempDir()
	judge.Run(t, py, dir, smallTable)
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) != 24 {
		t.Fatal(files, err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	damaged := filepath.Join(dir, "damaged")
	for _, file := range files {
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(t.Context(), storage.File(file), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pages := len(good) - 8 - int(binary.LittleEndian.Uint32(good[len(good)-8:]))
		refused := 0
		const rounds = 120
		for i := range rounds {
			b := slices.Clone(good)
			for range 3 {
				b[4+r.IntN(pages-4)] = byte(r.IntN(256))
			}
			if err := os.WriteFile(damaged, b, 0o644); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := Read(t.Context(), storage.File(damaged), ReadOptions{})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
				t.Fatalf("%s, round %d: %d bytes, %v", filepath.Base(file), i, used, err)
			}
			var data *DataError
			switch {
			case errors.As(err, &data):
				refused++
			case err != nil:
				t.Fatalf("%s, round %d: error of another kind: %v", filepath.Base(file), i, err)
			case strings.Contains(file, "True") && diffTensors(want, got) != "":
				t.Fatalf("%s, round %d: read wrong in spite of checksums", filepath.Base(file), i)
			}
		}
		if refused < rounds/10 {
			t.Errorf("%s: only %d of %d are refused", filepath.Base(file), refused, rounds)
		}
	}
}
