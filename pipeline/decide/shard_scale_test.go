package decide

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/parquetjoin"
	"pipe/internal/storage"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// featureRow is a row of an archive: what pipe decide reads of Parquet.
type featureRow struct {
	ID       string    `parquet:"id,plain"`
	Features []float32 `parquet:"features,list"`
}

// writeArchive writes rows of random features.
func writeArchive(t *testing.T, path string, rows, dim int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[featureRow](f, parquet.MaxRowsPerRowGroup(1<<16), parquet.DataPageStatistics(false))
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]float32, 1<<16)
	for i := range noise {
		noise[i] = float32(rng.NormFloat64())
	}
	batch := make([]featureRow, 4096)
	for done := 0; done < rows; done += len(batch) {
		batch = batch[:min(len(batch), rows-done)]
		for i := range batch {
			at := rng.IntN(len(noise) - dim)
			batch[i] = featureRow{strconv.Itoa(done + i), noise[at : at+dim]}
		}
		if _, err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// spent is the time that this process has used of all cores, and the time of day.
type spent struct{ cores, day time.Duration }

func now(t *testing.T) spent {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return spent{time.Duration(u.Utime.Nano() + u.Stime.Nano()), time.Duration(time.Now().UnixNano())}
}

func since(t *testing.T, start spent) spent {
	t.Helper()
	end := now(t)
	return spent{end.cores - start.cores, end.day - start.day}
}

// TestShardsAreAsFast: in one sitting, shards decide at least 0.9 times as many rows per second of a core as one run does,
// with the same bytes. Time of cores counts, since other programs may use them too. PIPE_DECIDE_ROWS is the number of rows, 20 million if it is "long"; PIPE_DECIDE_FOLDER is a folder
// with room for the archive, 260 bytes a row.
func TestShardsAreAsFast(t *testing.T) {
	rows, err := strconv.Atoi(os.Getenv("PIPE_DECIDE_ROWS"))
	if os.Getenv("PIPE_DECIDE_ROWS") == "long" {
		rows, err = 20_000_000, nil
	}
	if err != nil {
		t.Skip("PIPE_DECIDE_ROWS is not a number of rows")
	}
	folder, err := os.MkdirTemp(os.Getenv("PIPE_DECIDE_FOLDER"), "archive-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	rt := orttest.Open(t, 1)
	o := DefaultStreamOptions()
	o.Policy, o.In, o.Out = storage.File(decidetest.WritePolicy(t, decidetest.Policy(64, 64))), storage.File(filepath.Join(folder, "rows.parquet")), storage.File(filepath.Join(folder, "whole.parquet"))
	writeArchive(t, o.In.String(), rows, 64)
	one := func() spent {
		start := now(t)
		if _, err := Stream(t.Context(), rt, o, nil, nil, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		return since(t, start)
	}
	const n = 8
	before := one()
	s, err := openSharded(t.Context(), rt, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := now(t)
	c, err := s.cut(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	var parts []parquetjoin.Part
	for i, span := range c.Spans {
		path := filepath.Join(folder, s.partName(i))
		if _, err := s.run(t.Context(), span, storage.File(path)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, parquetjoin.Part{ReaderAt: f, Size: info.Size()})
	}
	shards := since(t, start)
	sum := sha256.New()
	start = now(t)
	if err := parquetjoin.Join(sum, parts); err != nil {
		t.Fatal(err)
	}
	gather := since(t, start)
	after := one()
	whole, err := os.Open(o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	want := sha256.New()
	if _, err := io.Copy(want, whole); err != nil {
		t.Fatal(err)
	}
	local := (before.cores + after.cores) / 2
	perCore := func(d time.Duration) string { return fmt.Sprintf("%.0f rows/s per core", float64(rows)/d.Seconds()) }
	ratio := local.Seconds() / (shards.cores + gather.cores).Seconds()
	t.Logf("%d rows x 64: one run %v and %v by the clock, %s; %d shards %v, gathered in %v, %s; ratio %.3f",
		rows, before.day, after.day, perCore(local), n, shards.day, gather.day, perCore(shards.cores+gather.cores), ratio)
	if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Error("the gathered shards have other bytes")
	}
	if ratio < 0.9 {
		t.Errorf("shards are %.3f times as fast as one run", ratio)
	}
}
