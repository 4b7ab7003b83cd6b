package costs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pipe/internal/storage"
)

// drawTensor draws a valid tensor of any shape, with unavailable pairs, and
// with or without each optional column.
func drawTensor(t *rapid.T) *Tensor {
	a := testActions(rapid.IntRange(1, 4).Draw(t, "experts"), rapid.IntRange(1, 4).Draw(t, "advice"))
	for i := 1; i < a.Len(); i++ {
		if rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
			j, k := a.Pair(i)
			a.Unavailable = append(a.Unavailable, Pair{j, k})
		}
	}
	tensor := testTensor(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 1500).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "dim"), a)
	if rapid.Bool().Draw(t, "no groups") {
		tensor.Groups = nil
	}
	if rapid.Bool().Draw(t, "no labels") {
		tensor.Labels = nil
	}
	if rapid.Bool().Draw(t, "no predictions") {
		tensor.Predictions = nil
	}
	if rapid.Bool().Draw(t, "no fee") {
		tensor.Fee = nil
	}
	for q := range Quantities {
		switch one := rapid.IntRange(0, 9).Draw(t, "unknown "+q.String()); one {
		case 0:
			tensor.Usage[q] = nil
		default:
			for i := 0; i < len(tensor.Usage[q]); i += one {
				tensor.Usage[q][i] = float32(math.NaN())
			}
		}
	}
	if rapid.Bool().Draw(t, "times") {
		for range tensor.IDs {
			tensor.Times = append(tensor.Times, rapid.Int64Range(earliest, latest).Draw(t, "time"))
		}
	}
	if rapid.Bool().Draw(t, "propensity") {
		tensor.Propensity = propensitiesFor(tensor, rapid.IntRange(1, 9).Draw(t, "known propensities"))
	}
	if rapid.Bool().Draw(t, "facts") {
		tensor.Facts = factsFor(tensor, 7, rapid.IntRange(1, 9).Draw(t, "known facts"))
		for i, f := range tensor.Facts {
			tensor.Facts[i] = f.used()
		}
	}
	if rapid.Bool().Draw(t, "meta") {
		tensor.Meta = map[string]string{"made by": "a test", "another": "ключ"}
	}
	return tensor
}

// drawPartial draws a tensor that may have unknown outcomes, and unknown fees beside them.
func drawPartial(t *rapid.T) *Tensor {
	tensor := drawTensor(t)
	one := rapid.IntRange(1, 40).Draw(t, "one in")
	for i := range tensor.Loss {
		if one < 20 && (i*i+i/7)%one == 0 {
			tensor.Loss[i] = float32(math.NaN())
			if tensor.Fee != nil && i%2 == 0 {
				tensor.Fee[i] = float32(math.NaN())
			}
		}
	}
	return tensor
}

func diffTensors(a, b *Tensor) string {
	return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

func TestWriteThenReadIsIdentity(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := drawPartial(t)
		path := filepath.Join(dir, "t.parquet")
		if err := Write(t.Context(), storage.File(path), want); err != nil {
			t.Fatal(err)
		}
		got, err := Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := diffTensors(want, got); d != "" {
			t.Fatalf("tensor changed:\n%s", d)
		}
		if want.Digest() != got.Digest() {
			t.Fatal("digest changed")
		}
	})
}

func TestPartsAndBatchesReadTheSame(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := drawPartial(t)
		folder := filepath.Join(dir, "parts")
		os.RemoveAll(folder)
		if err := writeParts(t.Context(), folder, want, rapid.IntRange(max(1, want.Len()/5), want.Len()+1).Draw(t, "part")); err != nil {
			t.Fatal(err)
		}
		got, err := Read(t.Context(), storage.File(folder), ReadOptions{Unknown: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := diffTensors(want, got); d != "" {
			t.Fatalf("read differs:\n%s", d)
		}
		r, err := OpenReader(t.Context(), storage.File(folder), ReadOptions{Unknown: true, BatchRows: rapid.IntRange(max(1, want.Len()/7), 4000).Draw(t, "batch")})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		streamed := &Tensor{Actions: want.Actions, Dim: want.Dim, Meta: want.Meta}
		for {
			batch, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			streamed.extend(batch)
			extendFacts(streamed, batch)
		}
		if d := diffTensors(want, streamed); d != "" {
			t.Fatalf("stream differs:\n%s", d)
		}
	})
}

func TestFileBytesDependOnContentOnly(t *testing.T) {
	dir := t.TempDir()
	want := testTensor(3, 9000, 300, testActions(2, 3))
	whole, pieces := filepath.Join(dir, "whole.parquet"), filepath.Join(dir, "pieces.parquet")
	if err := Write(t.Context(), storage.File(whole), want); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), storage.File(pieces), want.Actions, WriterOptions{Dim: want.Dim, Groups: true, Fee: true, Usage: UsageFlags{true, true, true, true, true}, Labels: true, Predictions: true})
	if err != nil {
		t.Fatal(err)
	}
	for first, size := 0, 1; first < want.Len(); first, size = first+size, 2*size+1 {
		if err := w.Append(want.window(first, min(size, want.Len()-first))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(whole)
	b, _ := os.ReadFile(pieces)
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("files of %d and %d bytes differ", len(a), len(b))
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFeaturesOnlyNeedsNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	want := testTensor(4, 1000, 5, testActions(2, 2))
	if err := Write(t.Context(), storage.File(path), want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), storage.File(path), ReadOptions{FeaturesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Features, want.Features) || !cmp.Equal(got.IDs, want.IDs) || got.Loss != nil || got.Splits != nil {
		t.Errorf("features-only read gave %d features, %d ids, %d losses", len(got.Features), len(got.IDs), len(got.Loss))
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	want := testTensor(5, 2000, 4, testActions(1, 1))
	w, err := NewWriter(t.Context(), storage.File(filepath.Join(dir, "t.parquet")), want.Actions, WriterOptions{Dim: 4, Groups: true, Fee: true, Usage: UsageFlags{true, true, true, true, true}, Labels: true, Predictions: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(want); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(want); err == nil {
		t.Error("the same ids were accepted twice")
	}
	w.Abort()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if err := w.Append(want); err == nil {
		t.Error("append after abort was accepted")
	}
}

func TestWriterRefusesBadRows(t *testing.T) {
	for name, spoil := range map[string]func(*Tensor){
		"NaN feature":        func(t *Tensor) { t.Features[7] = float32(math.NaN()) },
		"infinite loss":      func(t *Tensor) { t.Loss[3] = float32(math.Inf(1)) },
		"negative fee":       func(t *Tensor) { t.Fee[2] = -1 },
		"twice the same id":  func(t *Tensor) { t.IDs[4] = t.IDs[2] },
		"empty id":           func(t *Tensor) { t.IDs[4] = "" },
		"unknown split":      func(t *Tensor) { t.Splits[1] = 9 },
		"missing loss":       func(t *Tensor) { t.Loss = t.Loss[1:] },
		"negative base fee":  func(t *Tensor) { t.Actions.Experts[0].Fee = -1 },
		"other dimension":    func(t *Tensor) { t.Actions.Features.Dim = 99 },
		"no rows":            func(t *Tensor) { *t = *t.Subset(nil) },
		"value where absent": func(t *Tensor) { t.Actions.Unavailable = []Pair{{0, 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			bad := testTensor(6, 20, 3, testActions(2, 2))
			spoil(bad)
			if err := Write(t.Context(), storage.File(filepath.Join(dir, "t.parquet")), bad); err == nil {
				t.Error("written without an error")
			} else {
				t.Log(err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// writeParts writes a tensor as a folder of part files of at most the given number of rows.
func writeParts(ctx context.Context, folder string, t *Tensor, rows int) error {
	err := os.Mkdir(folder, 0o755)
	for i, first := 0, 0; err == nil && first < t.Len(); i, first = i+1, first+rows {
		var w *Writer
		if w, err = NewWriter(ctx, storage.File(filepath.Join(folder, fmt.Sprintf("part-%05d.parquet", i))), t.Actions, t.Columns()); err == nil {
			err = errors.Join(w.Append(t.window(first, min(rows, t.Len()-first))), w.Close())
		}
	}
	return err
}

// Read allocates little more, garbage included, than the float32 values that it
// returns. This also bounds its peak memory.
func TestReadAllocatesLittleMore(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which runs short tests, lets pools forget what they hold")
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	want := testTensor(8, 20000, 512, testActions(2, 2))
	want.Fee, want.Usage, want.Predictions = nil, Usage{}, nil
	if err := Write(t.Context(), storage.File(path), want); err != nil {
		t.Fatal(err)
	}
	values := 4 * (len(want.Features) + len(want.Loss))
	want = nil
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Read(t.Context(), storage.File(path), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if ratio := float64(after.TotalAlloc-before.TotalAlloc) / float64(values); ratio > 1.3 {
		t.Errorf("allocated %.2f times the %d bytes of the values", ratio, values)
	}
	if got.Len() != 20000 {
		t.Errorf("read %d rows", got.Len())
	}
}
