package grow

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
)

// writeLarge writes rows that are computed from their numbers, block by block.
func writeLarge(t *testing.T, path string, from, rows, dim int, a *costs.Actions) {
	t.Helper()
	w, err := costs.NewWriter(t.Context(), storage.File(path), a, costs.WriterOptions{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	const block = 1 << 14
	for first := from; first < from+rows; first += block {
		n := min(block, from+rows-first)
		batch := &costs.Tensor{Actions: a, Dim: dim, Splits: make([]costs.Split, n), Features: make([]float32, n*dim), Loss: make([]float32, n*a.Len())}
		for i := range n {
			batch.IDs = append(batch.IDs, "row-"+strconv.Itoa(first+i))
		}
		for i := range batch.Features {
			batch.Features[i] = float32((first*dim + i) % 1009)
		}
		for i := range batch.Loss {
			batch.Loss[i] = float32((first+i)%8) / 8
		}
		if err := w.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// cpuTime is the time that this process has used on all cores.
func cpuTime(t *testing.T) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// PIPE_GROW_ROWS=1000000 go test ./costs/grow -run Scale -v -timeout 30m prints the times of joining and comparing
// tensors of 20 pairs and 16 features, whose largest has that number of rows, and the memory that is in use at the end.
func TestScale(t *testing.T) {
	most, _ := strconv.Atoi(os.Getenv("PIPE_GROW_ROWS"))
	if most == 0 {
		t.Skip("PIPE_GROW_ROWS is not set")
	}
	a := actionsOf(5, 4)
	for _, rows := range []int{most / 4, most / 2, most} {
		w := newWriter(t)
		half := rows / 2
		files := []string{w.path("a.parquet"), w.path("b.parquet")}
		writeLarge(t, files[0], 0, half, 16, a)
		writeLarge(t, files[1], half, rows-half, 16, a)
		line := fmt.Sprintf("%8d rows:", rows)
		timed := func(what string, run func() error) {
			start, cpu := time.Now(), cpuTime(t)
			if err := run(); err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" %s %.1f s (CPU %.1f s),", what, time.Since(start).Seconds(), (cpuTime(t) - cpu).Seconds())
		}
		timed("merge", func() error {
			_, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("c.parquet")), MergeOptions{})
			return err
		})
		timed("merge with --keep-same", func() error {
			_, err := Merge(context.Background(), storage.Files(w.path("c.parquet"), files[1]), storage.File(w.path("d.parquet")), MergeOptions{KeepSame: true})
			return err
		})
		timed("diff", func() error {
			_, err := Diff(context.Background(), storage.File(w.path("c.parquet")), storage.File(w.path("d.parquet")), DiffOptions{})
			return err
		})
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%s %d MB from the system", line, m.Sys>>20)
	}
}
