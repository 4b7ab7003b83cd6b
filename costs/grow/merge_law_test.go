package grow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/storage"
)

// cut divides rows into pieces at random places.
func cut(t *rapid.T, rows []int) [][]int {
	var pieces [][]int
	for len(rows) > 1 && len(pieces) < 3 {
		n := rapid.IntRange(1, len(rows)-1).Draw(t, "piece")
		pieces, rows = append(pieces, rows[:n]), rows[n:]
	}
	return append(pieces, rows)
}

// Merged pieces are the tensor with the rows in the order of the files, byte for
// byte, however they were cut and bracketed.
func TestMergedRowsAreTheConcatenation(t *testing.T) {
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t)
		pieces := cut(t, all(whole.Len()))
		order := rapid.Permutation(all(len(pieces))).Draw(t, "order")
		var files []string
		var rows []int
		for _, i := range order {
			rows = append(rows, pieces[i]...)
			files = append(files, w.write(t, fmt.Sprintf("piece-%d.parquet", i), whole.Subset(pieces[i])))
		}
		r, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("merged.parquet")), MergeOptions{batch: rapid.IntRange(0, 40).Draw(t, "batch")})
		if err != nil {
			t.Fatal(err)
		}
		want, got := whole.Subset(rows), read(t, w.path("merged.parquet"))
		if d := difference(want, got); d != "" {
			t.Fatalf("merged differs:\n%s", d)
		}
		if r.Mode != Rows || r.Rows != whole.Len() || r.Same != 0 {
			t.Fatalf("%+v", r)
		}
		want.Meta = got.Meta
		w.write(t, "want.parquet", want)
		if bytesOf(t, w.path("want.parquet")) != bytesOf(t, w.path("merged.parquet")) {
			t.Fatal("bytes differ from those of the tensor written at once")
		}
		checkGroups(t, want, r, len(files))
		if len(files) < 3 {
			return
		}
		if _, err := Merge(context.Background(), storage.Files(files[:2]...), storage.File(w.path("two.parquet")), MergeOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(context.Background(), storage.Files(append([]string{w.path("two.parquet")}, files[2:]...)...), storage.File(w.path("again.parquet")), MergeOptions{}); err != nil {
			t.Fatal(err)
		}
		if bytesOf(t, w.path("again.parquet")) != bytesOf(t, w.path("merged.parquet")) {
			t.Fatal("merging step by step gives other bytes")
		}
	})
}

// sameUsage compares the usage of a cell of two tensors.
func sameUsage(a *costs.Tensor, x int, b *costs.Tensor, y int) bool {
	for q, values := range a.Usage {
		if (values == nil) != (b.Usage[q] == nil) || values != nil && math.Float32bits(values[x]) != math.Float32bits(b.Usage[q][y]) {
			return false
		}
	}
	return true
}

// sameFacts compares the facts of a cell of two tensors.
func sameFacts(a *costs.Tensor, x int, b *costs.Tensor, y int) bool {
	for i, f := range a.Facts {
		g := b.Facts[i]
		switch {
		case f.Name != g.Name || f.Kind() != g.Kind():
			return false
		case f.Category() && f.Text(x) != g.Text(y):
			return false
		case !f.Category() && math.Float32bits(f.Data[x]) != math.Float32bits(g.Data[y]):
			return false
		}
	}
	return len(a.Facts) == len(b.Facts)
}

func checkGroups(t *rapid.T, whole *costs.Tensor, r *MergeReport, files int) {
	distinct, divided := costs.CountGroups(whole.Groups, whole.Splits)
	if r.Groups != distinct || r.Divided != divided || r.Across > divided || r.Shared > distinct {
		t.Fatalf("groups %+v, but there are %d, %d of them divided", r.GroupReport, distinct, divided)
	}
	if files > 1 && min(divided, shownGroups) != len(r.First) {
		t.Fatalf("%d of %d divided groups are shown", len(r.First), divided)
	}
}

// only is a tensor with some of the pairs, and only the experts and advice that
// these need.
func only(t *costs.Tensor, keep []bool) *costs.Tensor {
	a := t.Actions
	var experts, advice []int
	uses := func(j, k int) bool { return keep[a.Index(j, k)] }
	for j := range a.Experts {
		if slices.ContainsFunc(all(len(a.Advice)), func(k int) bool { return uses(j, k) }) {
			experts = append(experts, j)
		}
	}
	for k := range a.Advice {
		if k == 0 || slices.ContainsFunc(experts, func(j int) bool { return uses(j, k) }) {
			advice = append(advice, k)
		}
	}
	b := &costs.Actions{Features: a.Features, Digests: a.Digests}
	var from []int
	for jj, j := range experts {
		b.Experts = append(b.Experts, a.Experts[j])
		for kk, k := range advice {
			from = append(from, a.Index(j, k))
			if !uses(j, k) {
				b.Unavailable = append(b.Unavailable, costs.Pair{Expert: jj, Advice: kk})
			}
		}
	}
	for _, k := range advice {
		b.Advice = append(b.Advice, a.Advice[k])
	}
	out := t.Subset(all(t.Len()))
	out.Actions, out.Loss = b, nil
	fee, predictions := out.Fee, out.Predictions
	out.Fee, out.Predictions, out.Usage, out.Propensity = nil, nil, costs.Usage{}, nil
	for f := range out.Facts {
		out.Facts[f].Data = nil
	}
	for n := range t.Len() {
		for _, i := range from {
			at := n*a.Len() + i
			loss := t.Loss[at]
			if !keep[i] {
				loss = float32(math.NaN())
			}
			out.Loss = append(out.Loss, loss)
			if fee != nil {
				out.Fee = append(out.Fee, fee[at])
			}
			for q, values := range t.Usage {
				if values != nil {
					out.Usage[q] = append(out.Usage[q], values[at])
				}
			}
			if t.Propensity != nil {
				out.Propensity = append(out.Propensity, t.Propensity[at])
			}
			if predictions != nil {
				out.Predictions = append(out.Predictions, predictions[at])
			}
			for f := range out.Facts {
				out.Facts[f].Data = append(out.Facts[f].Data, t.Facts[f].Data[at])
			}
		}
	}
	return out
}

// Pairs that were taken apart, with some in several files and with rows in any
// order, come together again with their values.
func TestMergedPairsAreTheWhole(t *testing.T) {
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t)
		mask := whole.Actions.Mask()
		files, pieces := []string{}, rapid.IntRange(2, 3).Draw(t, "files")
		in := make([][]bool, pieces)
		for f := range in {
			in[f] = make([]bool, len(mask))
			in[f][0] = mask[0] // a file has a pair at least
		}
		for i, available := range mask {
			for f := range in {
				in[f][i] = available && (in[f][i] || rapid.Bool().Draw(t, "in file"))
			}
		}
		for f := range in {
			piece := only(whole, in[f])
			if f > 0 && rapid.Bool().Draw(t, "other order") {
				piece = piece.Subset(rapid.Permutation(all(piece.Len())).Draw(t, "rows"))
			}
			files = append(files, w.write(t, fmt.Sprintf("%d.parquet", f), piece))
		}
		if _, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("merged.parquet")), MergeOptions{Mode: Pairs, batch: rapid.IntRange(0, 40).Draw(t, "batch")}); err != nil {
			t.Fatal(err)
		}
		got := read(t, w.path("merged.parquet"))
		checkPairs(t, whole, got, in)
	})
}

// checkPairs compares the values of every pair by its name.
func checkPairs(t *rapid.T, whole, got *costs.Tensor, in [][]bool) {
	if !slices.Equal(whole.IDs, got.IDs) || !slices.Equal(whole.Splits, got.Splits) || !slices.Equal(whole.Groups, got.Groups) || !slices.Equal(whole.Features, got.Features) {
		t.Fatal("columns of the instances differ")
	}
	if (whole.Fee == nil) != (got.Fee == nil) || (whole.Predictions == nil) != (got.Predictions == nil) {
		t.Fatal("optional columns differ")
	}
	names := whole.Actions.Names()
	mask := got.Actions.Mask()
	for q, name := range got.Actions.Names() {
		p := slices.Index(names, name)
		there := slices.ContainsFunc(in, func(f []bool) bool { return f[p] })
		if there != mask[q] {
			t.Fatalf("%s: available %t, want %t", name, mask[q], there)
		}
		for n := range whole.IDs {
			x, y := n*len(names)+p, n*len(mask)+q
			if there && (math.Float32bits(whole.Loss[x]) != math.Float32bits(got.Loss[y]) || whole.Fee != nil && whole.Fee[x] != got.Fee[y] || !sameUsage(whole, x, got, y) || !sameFacts(whole, x, got, y) || whole.Predictions != nil && whole.Predictions[x] != got.Predictions[y]) {
				t.Fatalf("%s, row %d: %v, want %v", name, n, got.Loss[y], whole.Loss[x])
			}
		}
	}
	for f := range in {
		for p, there := range in[f] {
			if there && !slices.Contains(got.Actions.Names(), names[p]) {
				t.Fatalf("%s is lost", names[p])
			}
		}
	}
}

// Rows that are in two files are kept once, and a changed value of such a row is
// an error that names file, row and column.
func TestRepeatedRows(t *testing.T) {
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t)
		n := whole.Len()
		to := rapid.IntRange(1, n).Draw(t, "end of the first")
		from := rapid.IntRange(0, to-1).Draw(t, "start of the second")
		second := whole.Subset(all(n)[from:])
		files := []string{w.write(t, "a.parquet", whole.Subset(all(to))), w.write(t, "b.parquet", second)}
		out := w.path("merged.parquet")
		if _, err := Merge(context.Background(), storage.Files(files...), storage.File(out), MergeOptions{}); !isData(err, "id", 1) {
			t.Fatalf("repeated rows without an option: %v", err)
		}
		r, err := Merge(context.Background(), storage.Files(files...), storage.File(out), MergeOptions{KeepSame: true, batch: rapid.IntRange(0, 40).Draw(t, "batch")})
		if err != nil {
			t.Fatal(err)
		}
		if d := difference(whole, read(t, out)); d != "" || r.Same != to-from || r.Inputs[1].Same != to-from {
			t.Fatalf("%d of %d rows are the same:\n%s", r.Same, to-from, d)
		}
		row := rapid.IntRange(0, to-from-1).Draw(t, "changed row")
		column := spoil(t, second, row)
		w.write(t, "b.parquet", second)
		if _, err := Merge(context.Background(), storage.Files(files...), storage.File(out), MergeOptions{KeepSame: true}); !isData(err, column, row+1) || !strings.Contains(err.Error(), w.path("b.parquet")) {
			t.Fatalf("changed %s of row %d: %v", column, row+1, err)
		}
	})
}

// spoil changes one value of a row and returns its column.
func spoil(t *rapid.T, tensor *costs.Tensor, row int) string {
	a := tensor.Actions.Len()
	pairs := slices.DeleteFunc(all(a), func(i int) bool { return !tensor.Actions.Available(i) })
	p := rapid.SampledFrom(pairs).Draw(t, "pair")
	k := rapid.IntRange(0, tensor.Dim-1).Draw(t, "feature")
	changes := map[string]func(){
		"split":                    func() { tensor.Splits[row] = (tensor.Splits[row] + 1) % 3 },
		fmt.Sprintf("loss[%d]", p): func() { tensor.Loss[row*a+p] = 2 },
		fmt.Sprintf("features[%d]", k): func() {
			tensor.Features[row*tensor.Dim+k] = math.Nextafter32(tensor.Features[row*tensor.Dim+k], 9)
		},
	}
	if tensor.Groups != nil {
		changes["group"] = func() { tensor.Groups[row] += "x" }
	}
	if tensor.Times != nil {
		changes["time"] = func() { tensor.Times[row]++ }
	}
	if tensor.Labels != nil {
		changes["label"] = func() { tensor.Labels[row] += "x" }
	}
	for q, values := range tensor.Usage {
		if values != nil && costs.Quantity(q) != costs.TokensCached {
			changes[fmt.Sprintf("%s[%d]", costs.Quantity(q), p)] = func() { values[row*a+p] = 20 }
		}
	}
	if tensor.Fee != nil {
		changes[fmt.Sprintf("fee[%d]", p)] = func() { tensor.Fee[row*a+p]++ }
	}
	if tensor.Propensity != nil && p > 0 {
		changes[fmt.Sprintf("propensity[%d]", p)] = func() { tensor.Propensity[row*a+p] = 1e-9 }
	}
	for i := range tensor.Facts {
		f := &tensor.Facts[i]
		changes[fmt.Sprintf("%s[%d]", f.Column(), p)] = func() { spoilFact(f, row*a+p) }
	}
	if tensor.Predictions != nil {
		changes[fmt.Sprintf("prediction[%d]", p)] = func() { tensor.Predictions[row*a+p] += "x" }
	}
	names := slices.Sorted(maps.Keys(changes))
	column := rapid.SampledFrom(names).Draw(t, "column")
	changes[column]()
	return column
}

// spoilFact makes a cell another number, or another text.
func spoilFact(f *costs.Facts, i int) {
	switch {
	case !f.Category():
		f.Data[i] = 9
	case f.Text(i) != "":
		f.Data[i] = nan
	default:
		f.Values = append(slices.Clone(f.Values), strings.Repeat("z", 1+len(f.Values)))
		f.Data[i] = float32(len(f.Values) - 1)
	}
}

func isData(err error, column string, row int) bool {
	var data *costs.DataError
	return errors.As(err, &data) && data.Column == column && data.Row == row && data.File != ""
}
