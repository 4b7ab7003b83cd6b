package tabular

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/internal/storage"
)

// competitionFiles are those in the folder $PIPE_BENCH_TABLE (that of pipe
// generate fraud for the full size), else small ones with the columns of the
// competition, its share of gaps and about its length of a cell.
func competitionFiles(b *testing.B, rows int) Files {
	b.Helper()
	if dir := os.Getenv("PIPE_BENCH_TABLE"); dir != "" {
		return Files{Primary: storage.File(filepath.Join(dir, "train_transaction.csv")), Joined: storage.File(filepath.Join(dir, "train_identity.csv"))}
	}
	schema, _ := fraudSchema(b).columns()
	var primary, joined []schemaColumn
	for _, c := range schema {
		if len(c.name) > 3 && c.name[:3] == "id_" || len(c.name) > 6 && c.name[:6] == "Device" {
			joined = append(joined, c)
		} else {
			primary = append(primary, c)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	dir := b.TempDir()
	files := Files{Primary: storage.File(filepath.Join(dir, "transactions.csv")), Joined: storage.File(filepath.Join(dir, "identities.csv"))}
	writeColumns(b, r, files.Primary.String(), primary, rows, 1, true)
	writeColumns(b, r, files.Joined.String(), joined, rows/4, 4, false)
	return files
}

func writeColumns(b *testing.B, r *rand.Rand, path string, columns []schemaColumn, rows, step int, label bool) {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(file)
	w.WriteString("TransactionID")
	if label {
		w.WriteString(",isFraud")
	}
	for _, c := range columns {
		w.WriteString("," + c.name)
	}
	for row := range rows {
		fmt.Fprintf(w, "\n%d", 2_987_000+row*step)
		if label {
			fmt.Fprintf(w, ",%d", min(1, r.IntN(28))^1)
		}
		for _, c := range columns {
			switch {
			case c.time:
				fmt.Fprintf(w, ",%d", 86_400+27*row)
			case r.IntN(5) < 2:
				w.WriteByte(',')
			case c.categorical:
				fmt.Fprintf(w, ",%d.0", int(r.ExpFloat64()*40))
			case r.IntN(4) == 0:
				fmt.Fprintf(w, ",%.3f", r.ExpFloat64()*100)
			default:
				fmt.Fprintf(w, ",%d.0", r.IntN(9))
			}
		}
	}
	w.WriteByte('\n')
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTabular loads, joins, fits and encodes; one row is 394 + 41 columns.
func BenchmarkTabular(b *testing.B) {
	files := competitionFiles(b, 20_000)
	s := fraudSchema(b)
	f, e := loadAndFit(b, s, files)
	encodeAll(e, f)
	memory := peakMemory(b)
	measure := func(name string, run func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(b)
			}
			b.ReportMetric(float64(f.Len()*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			f, e := loadAndFit(b, s, files)
			encodeAll(e, f)
		}
		b.ReportMetric(float64(f.Len()*b.N)/b.Elapsed().Seconds(), "rows/s")
		b.ReportMetric(memory, "peak-GiB")
	})
	measure("load", func(b *testing.B) {
		if _, _, err := Load(b.Context(), s, files, nil); err != nil {
			b.Fatal(err)
		}
	})
	measure("fit", func(b *testing.B) { mustFit(b, f, s, upTo(f.Len()*3/4)) })
	measure("encode/dense", func(*testing.B) { encodeAll(e, f) })
	path := filepath.Join(b.TempDir(), "table.parquet")
	split := slices.Repeat([]string{"train"}, f.Len())
	measure("table/write", func(b *testing.B) {
		if err := WriteTable(b.Context(), storage.File(path), e, f, split, nil); err != nil {
			b.Fatal(err)
		}
	})
	measure("table/read=256", func(b *testing.B) { readShards(b, path, 256) })
}

func loadAndFit(b *testing.B, s *Schema, files Files) (*Frame, *Encoder) {
	b.Helper()
	f, _, err := Load(b.Context(), s, files, nil)
	if err != nil {
		b.Fatal(err)
	}
	return f, mustFit(b, f, s, upTo(f.Len()*3/4))
}

// peakMemory is the largest resident size of this process so far in GiB, 0
// where the system does not tell.
func peakMemory(b *testing.B) float64 {
	b.Helper()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / (1 << 20)
		}
	}
	return 0
}

// encodeAll encodes every row on all cores.
func encodeAll(e *Encoder, f *Frame) {
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for worker := range cores {
		wg.Go(func() {
			values, dense := make([]float32, len(e.Columns())), make([]float32, e.Width(LayoutDense))
			for row := worker * f.Len() / cores; row < (worker+1)*f.Len()/cores; row++ {
				e.Values(values, f, row)
				e.Encode(dense, values, LayoutDense)
			}
		})
	}
	wg.Wait()
}

func readShards(b *testing.B, path string, shard int) {
	b.Helper()
	r, err := OpenTable(b.Context(), storage.File(path))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	dst := make([]float32, shard*len(r.Encoder().Columns()))
	for row := 0; row+shard <= r.Len(); row += shard {
		if err := r.Read(b.Context(), dst, row, shard); err != nil {
			b.Fatal(err)
		}
	}
}
