package tabular

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/storage"
)

// randomFrame has rows for several row groups.
func randomFrame(t testing.TB, rows int) (*Frame, *Encoder, []string) {
	t.Helper()
	s := smallSchema()
	primary, joined := randomTable(rand.New(rand.NewPCG(11, 12)), rows, false)
	f := mustLoad(t, s, primary, joined)
	split := make([]string, rows)
	for i := range split {
		split[i] = []string{"train", "val", "test"}[i%3]
	}
	return f, mustFit(t, f, s, upTo(rows/2)), split
}

func writeTo(t testing.TB, e *Encoder, f *Frame, split []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.parquet")
	if err := WriteTable(context.Background(), storage.File(path), e, f, split, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string) *TableReader {
	t.Helper()
	r, err := OpenTable(t.Context(), storage.File(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// valuesOf are the values of all rows of a frame.
func valuesOf(e *Encoder, f *Frame) []float32 {
	width := len(e.Columns())
	all := make([]float32, f.Len()*width)
	for row := range f.Len() {
		e.Values(all[row*width:][:width], f, row)
	}
	return all
}

func sameTable(t *testing.T, r *TableReader, e *Encoder, f *Frame, split []string) {
	t.Helper()
	labels := make([]string, f.Len())
	for i, l := range f.Labels {
		labels[i] = e.Labels()[l]
	}
	if d := cmp.Diff(f.IDs, r.IDs()) + cmp.Diff(split, r.Splits()) + cmp.Diff(labels, r.Labels()); d != "" || r.Len() != f.Len() {
		t.Fatalf("%d rows: %s", r.Len(), d)
	}
	if r.Encoder().Digest() != e.Digest() {
		t.Errorf("encoder is %s, expected %s", r.Encoder().Digest(), e.Digest())
	}
	got := make([]float32, f.Len()*len(e.Columns()))
	if err := r.Read(context.Background(), got, 0, f.Len()); err != nil {
		t.Fatal(err)
	}
	if !sameBits(valuesOf(e, f), got) {
		t.Fatal("the values differ")
	}
}

func TestTableReadsBack(t *testing.T) {
	for _, rows := range []int{8, TableGroupRows, 3*TableGroupRows + 5} {
		f, e, split := randomFrame(t, rows)
		sameTable(t, mustOpen(t, writeTo(t, e, f, split)), e, f, split)
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Any window of rows, from many goroutines at once, while old groups are
// dropped and read again.
func TestTableReadsWindows(t *testing.T) {
	f, e, split := randomFrame(t, (keptGroups+3)*TableGroupRows+100)
	want := valuesOf(e, f)
	r := mustOpen(t, writeTo(t, e, f, split))
	width := len(e.Columns())
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 25 {
				from := random.IntN(f.Len())
				n := random.IntN(min(f.Len()-from, 2*TableGroupRows))
				got := make([]float32, n*width)
				if err := r.Read(context.Background(), got, from, n); err != nil {
					t.Error(err)
					return
				}
				if !sameBits(want[from*width:(from+n)*width], got) {
					t.Errorf("rows %d to %d differ", from, from+n)
				}
			}
		})
	}
	wg.Wait()
	kept := 0
	for _, g := range r.groups {
		if g.values != nil {
			kept++
		}
	}
	if kept > keptGroups {
		t.Errorf("%d row groups are kept", kept)
	}
}

func TestTableReaderEnds(t *testing.T) {
	f, e, split := randomFrame(t, 20)
	r := mustOpen(t, writeTo(t, e, f, split))
	row := make([]float32, len(e.Columns()))
	for _, from := range []int{-1, 20} {
		if err := r.Read(context.Background(), row, from, 1); err == nil {
			t.Errorf("row %d of 20 is read", from)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Read(ctx, row, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Read(context.Background(), row, 0, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

// The bytes of both files depend on the input alone.
func TestTableBytesDoNotDependOnCores(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	var first [2][]byte
	for i, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		f, e, split := randomFrame(t, 3*TableGroupRows)
		b, err := os.ReadFile(writeTo(t, e, f, split))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = [2][]byte{b, e.JSON()}
		}
		if !bytes.Equal(first[0], b) || !bytes.Equal(first[1], e.JSON()) {
			t.Errorf("with %d cores the files differ", n)
		}
	}
}

func TestWriteTableRefuses(t *testing.T) {
	f, e, split := randomFrame(t, 20)
	dir := t.TempDir()
	path := filepath.Join(dir, "table.parquet")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, err := range map[string]error{
		"19 splits for 20 rows":    WriteTable(context.Background(), storage.File(path), e, f, split[:19], nil),
		"row 1 has no split":       WriteTable(context.Background(), storage.File(path), e, f, make([]string, 20), nil),
		"not a regular file":       WriteTable(context.Background(), storage.File(dir), e, f, split, nil),
		context.Canceled.Error():   WriteTable(ctx, storage.File(path), e, f, split, nil),
		fs.ErrNotExist.Error()[:4]: WriteTable(context.Background(), storage.File(filepath.Join(dir, "none", "t")), e, f, split, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, expected %q", err, name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestOpenTableRefuses(t *testing.T) {
	f, e, split := randomFrame(t, 20)
	b, err := os.ReadFile(writeTo(t, e, f, split))
	if err != nil {
		t.Fatal(err)
	}
	length := append([]byte(nil), b...)
	copy(length[len(length)-8:], "\xff\xff\xff\x7f")
	for name, c := range map[string]struct{ text, says string }{
		"empty":      {"", "is empty"},
		"CSV":        {smallPrimary, "is not a Parquet file, or is truncated"},
		"truncated":  {string(b[:len(b)/2]), "is not a Parquet file, or is truncated"},
		"footer":     {string(length), "is not a Parquet file, or is truncated"},
		"no encoder": {strings.ReplaceAll(string(b), encoderKey, "pipe.encoded"), `metadata have no "pipe.encoder"`},
		"encoder":    {strings.Replace(string(b), `"format": 1`, `"format": 9`, 1), "format 9"},
		"a column":   {strings.Replace(string(b), `"name": "amount"`, `"name": "amuont"`, 1), "column amuont: is missing"},
	} {
		path := write(t, c.text)
		_, err := OpenTable(t.Context(), storage.File(path))
		if data := dataError(t, err); data.File != path || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if _, err := OpenTable(t.Context(), storage.File(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// openAndRead opens bytes as a table and reads all of it. The error must be a
// *DataError.
func openAndRead(t testing.TB, b []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := OpenTable(t.Context(), storage.File(path))
	if err == nil {
		defer r.Close()
		dst := make([]float32, r.Len()*len(r.Encoder().Columns()))
		err = r.Read(context.Background(), dst, 0, r.Len())
	}
	if err != nil {
		dataError(t, err)
	}
	return err
}

// Damaged files give an error or a table, and never a panic.
func TestDamagedTables(t *testing.T) {
	f, e, split := randomFrame(t, 30)
	ours, err := os.ReadFile(writeTo(t, e, f, split))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	const rounds = 600
	for range rounds {
		b := append([]byte(nil), ours...)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		if openAndRead(t, b) != nil {
			refused++
		}
	}
	if refused < rounds/10 {
		t.Errorf("only %d of %d damaged files are refused", refused, rounds)
	}
}

// FuzzOpenTable: any bytes are refused with a *DataError or are a table that
// can be read.
func FuzzOpenTable(f *testing.F) {
	frame, e, split := randomFrame(f, 9)
	b, err := os.ReadFile(writeTo(f, e, frame, split))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) { _ = openAndRead(t, b) })
}
