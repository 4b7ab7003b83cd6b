package grow

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/internal/fuzztest"
	"pipe/internal/storage"
)

// samples are small valid files that fit together or nearly do.
func samples(t testing.TB) [][]byte {
	w := newWriter(t)
	whole := tensorOf(1, 12, 2, actionsOf(2, 2))
	other := only(whole, []bool{true, false, false, true})
	unknown := whole.Subset(all(12)[6:])
	unknown.Loss[0] = nan
	unknown.Meta = map[string]string{partsKey: `[{"name":"x","digest":"sha256:00","rows":1}]`, costs.NamesKey: `["u","v"]`}
	var files [][]byte
	for _, tensor := range []*costs.Tensor{whole.Subset(all(6)), whole, other, unknown} {
		files = append(files, []byte(bytesOf(t, w.write(t, "sample.parquet", tensor))))
	}
	return files
}

// checkPair merges and compares two files of any bytes. The result is a valid tensor or an error about the data.
func checkPair(t *testing.T, first, second string, out string, o MergeOptions) (merged bool) {
	ctx := context.Background()
	var data *costs.DataError
	if _, err := Diff(ctx, storage.File(first), storage.File(second), DiffOptions{}); err != nil && !errors.As(err, &data) {
		t.Fatalf("diff: error of another kind: %v", err)
	}
	_, err := Merge(ctx, storage.Files(first, second), storage.File(out), o)
	if err != nil {
		if !errors.As(err, &data) {
			t.Fatalf("merge: error of another kind: %v", err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatal("a merge that failed left a file")
		}
		return false
	}
	defer os.Remove(out)
	if err := read(t, out).ValidatePartial(); err != nil {
		t.Fatalf("merged and invalid: %v", err)
	}
	if r, err := Diff(ctx, storage.File(out), storage.File(out), DiffOptions{}); err != nil || !r.Equal {
		t.Fatalf("the result differs from itself: %+v, %v", r, err)
	}
	return true
}

// FuzzPair: whatever the bytes of two files, Merge and Diff give a result or an error about the data.
func FuzzPair(f *testing.F) {
	files := samples(f)
	for _, b := range files {
		f.Add(files[0], b, true)
		f.Add(b, files[1], false)
	}
	first, second, out := fuzztest.NewFile(f, "a.parquet"), fuzztest.NewFile(f, "b.parquet"), fuzztest.NewFile(f, "out.parquet")
	f.Fuzz(func(t *testing.T, a, b []byte, keep bool) {
		checkPair(t, first.Write(t, a), second.Write(t, b), string(out), MergeOptions{KeepSame: keep, FillFee: keep})
	})
}

// Files with changed bytes give an error or a valid tensor, and never a panic.
func TestDamagedPairs(t *testing.T) {
	w := newWriter(t)
	files := samples(t)
	r := rand.New(rand.NewPCG(8, 9))
	merged, rounds := 0, 250
	for range rounds {
		a, b := slices.Clone(files[r.IntN(len(files))]), slices.Clone(files[r.IntN(len(files))])
		for range r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		for name, content := range map[string][]byte{"a.parquet": a, "b.parquet": b} {
			if err := os.WriteFile(w.path(name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if checkPair(t, w.path("a.parquet"), w.path("b.parquet"), w.path("out.parquet"), MergeOptions{KeepSame: r.IntN(2) == 0}) {
			merged++
		}
	}
	if merged == 0 || merged > rounds*3/4 {
		t.Errorf("%d of %d pairs are merged", merged, rounds)
	}
}
