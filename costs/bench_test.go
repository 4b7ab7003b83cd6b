package costs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/storage"
)

func BenchmarkRead(b *testing.B) {
	for _, shape := range []struct {
		name         string
		rows, dim, j int
	}{
		{"imagenet=39222x512", 39222, 512, 3},
		{"fever=15000x384", 15000, 384, 3},
		{"narrow=200000x4", 200_000, 4, 1},
	} {
		b.Run(shape.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "t.parquet")
			t := testTensor(1, shape.rows, shape.dim, testActions(shape.j, 4))
			t.Fee, t.Predictions = nil, nil
			if err := Write(b.Context(), storage.File(path), t); err != nil {
				b.Fatal(err)
			}
			t = nil
			b.SetBytes(int64(4 * shape.rows * shape.dim))
			for b.Loop() {
				if _, err := Read(b.Context(), storage.File(path), ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadFile reads the file named in PIPE_BENCH_COSTS, so that other
// writers' files can be measured.
func BenchmarkReadFile(b *testing.B) {
	path := os.Getenv("PIPE_BENCH_COSTS")
	if path == "" {
		b.Skip("PIPE_BENCH_COSTS names no file")
	}
	for b.Loop() {
		if _, err := Read(b.Context(), storage.File(path), ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	b.Run("decide=1000000x64", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "t.parquet")
		t := testTensor(1, 1_000_000, 64, testActions(2, 2))
		t.Fee, t.Predictions = nil, nil
		if err := Write(b.Context(), storage.File(path), t); err != nil {
			b.Fatal(err)
		}
		t = nil
		for b.Loop() {
			r, err := OpenReader(b.Context(), storage.File(path), ReadOptions{FeaturesOnly: true})
			if err != nil {
				b.Fatal(err)
			}
			for {
				if _, err = r.Next(); err != nil {
					break
				}
			}
			if !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			r.Close()
		}
		b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

func BenchmarkWrite(b *testing.B) {
	b.Run("imagenet=39222x512", func(b *testing.B) {
		t := testTensor(1, 39222, 512, testActions(3, 4))
		for b.Loop() {
			if err := Write(b.Context(), storage.File(filepath.Join(b.TempDir(), "t.parquet")), t); err != nil {
				b.Fatal(err)
			}
		}
	})
}
