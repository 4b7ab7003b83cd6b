package decide

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
)

// The header of a wide table is checked in linear time in its columns. Quadratic time would be minutes here.
func TestWideHeader(t *testing.T) {
	const columns = 300_000
	var header, row strings.Builder
	header.WriteString("id")
	row.WriteString("a")
	for c := range columns {
		fmt.Fprintf(&header, ",a_rather_long_name_%06d", c)
		row.WriteString(",1")
	}
	start := time.Now()
	in := io.NopCloser(strings.NewReader(header.String() + "\n" + row.String() + "\n"))
	src, err := openStream(t.Context(), "wide", formatCSV, in, &policy.Info{Dim: columns, Actions: &costs.Actions{}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	if b, err := src.next(t.Context()); err != nil || len(b.features) != columns {
		t.Fatalf("%v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// Batches of wide rows, and of rows with many scores, have fewer rows, and at least one.
func TestBatchOf(t *testing.T) {
	for _, c := range []struct{ dim, actions, rows int }{
		{0, 0, 4096}, {1, 2, 4096}, {1000, 24, 4096}, {100_000, 2, 41}, {1 << 23, 2, 1}, {8, 5000, 837}, {1, 1 << 23, 1},
	} {
		if b, rows := batchOf(c.dim, c.actions); rows != c.rows || cap(b.features) < rows*c.dim {
			t.Errorf("%d features, %d actions: %d rows, want %d", c.dim, c.actions, rows, c.rows)
		}
	}
}

// Every reader of rows hands out batches that have room for the scores of many actions.
func TestBatchesOfManyActions(t *testing.T) {
	a := &costs.Actions{Experts: make([]costs.Expert, 500), Advice: make([]costs.Advice, 1000)}
	want := batchRows(1, a.Len())
	folder := t.TempDir()
	table := filepath.Join(folder, "t.parquet")
	type row struct {
		ID       string    `parquet:"id"`
		Features []float32 `parquet:"features,list"`
	}
	var rows []row
	for n := range 3 * want {
		rows = append(rows, row{strconv.Itoa(n), []float32{1}})
	}
	if err := parquet.WriteFile(table, rows); err != nil {
		t.Fatal(err)
	}
	parquetText, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{
		formatCSV:     "x\n" + strings.Repeat("1\n", 3*want),
		formatJSONL:   strings.Repeat("{\"features\": [1]}\n", 3*want),
		formatParquet: string(parquetText),
	} {
		src, err := openStream(t.Context(), format, format, io.NopCloser(strings.NewReader(text)), &policy.Info{Dim: 1, Actions: a})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := src.next(t.Context()); err != nil || len(b.ids) != want {
			t.Errorf("%s: a batch has not %d rows: %v", format, want, err)
		}
		src.close()
	}
}

// Closing a named pipe of rows closes the file, also while a read waits, so that its writer gets an error.
func TestClosedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	writers := make(chan *os.File, 1)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		writers <- w
	}()
	in, err := openText(t.Context(), storage.File(path))
	if err != nil {
		t.Fatal(err)
	}
	w := <-writers
	defer w.Close()
	time.Sleep(10 * time.Millisecond) // by now the read is most likely waiting
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x\n"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the writer gets %v", err)
	}
}
