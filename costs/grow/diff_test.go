package grow

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/storage"
)

func diffOf(t interface{ Fatal(...any) }, a, b string, ignore ...string) *DiffReport {
	r, err := Diff(context.Background(), storage.File(a), storage.File(b), DiffOptions{Ignore: ignore})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A tensor is equal to itself, and a change of one value is found with its place
// and its size, in rows of any order.
func TestChangesAreFound(t *testing.T) {
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t)
		a := w.write(t, "a.parquet", whole)
		if r := diffOf(t, a, a); !r.Equal || r.Both != whole.Len() || r.Ignored != nil {
			t.Fatalf("a tensor differs from itself: %+v", r)
		}
		order := all(whole.Len())
		if rapid.Bool().Draw(t, "other order") {
			order = rapid.Permutation(order).Draw(t, "order")
		}
		other := whole.Subset(order[:rapid.IntRange(1, len(order)).Draw(t, "rows")])
		row := rapid.IntRange(0, other.Len()-1).Draw(t, "changed")
		column := spoil(t, other, row)
		r := diffOf(t, a, w.write(t, "b.parquet", other))
		if r.Equal || r.Both != other.Len() || r.A.Only.Rows != whole.Len()-other.Len() || r.B.Only.Rows != 0 || r.OtherOrder != !slices.IsSorted(order[:other.Len()]) {
			t.Fatalf("rows: %+v", r)
		}
		if len(r.Values) != 1 || r.Values[0].Rows != 1 || r.Values[0].Values != 1 {
			t.Fatalf("one value of %s changed: %+v", column, r.Values)
		}
		if v := r.Values[0].First[0]; v.ID != other.IDs[row] || v.Column != column || v.A == v.B {
			t.Fatalf("%s of %s changed: %+v", column, other.IDs[row], v)
		}
		checkMeans(t, r, whole, other)
	})
}

// checkMeans compares the means with those of the shared rows, taken one by one.
func checkMeans(t *rapid.T, r *DiffReport, a, b *costs.Tensor) {
	for _, p := range r.Pairs {
		i := slices.Index(a.Actions.Names(), p.Pair)
		rows, x, y := 0, 0.0, 0.0
		for n, id := range b.IDs {
			m := slices.Index(a.IDs, id)
			before, after := float64(a.Losses(m)[i]), float64(b.Losses(n)[i])
			if !math.IsNaN(before + after) {
				rows, x, y = rows+1, x+before, y+after
			}
		}
		switch {
		case p.Rows != rows:
			t.Fatalf("%s: %d rows, want %d", p.Pair, p.Rows, rows)
		case rows > 0 && (math.Abs(*p.A-x/float64(rows)) > 1e-12 || math.Abs(*p.B-y/float64(rows)) > 1e-12 || math.Abs(*p.Change-(y-x)/float64(rows)) > 1e-12):
			t.Fatalf("%s: %v and %v, want %v and %v", p.Pair, *p.A, *p.B, x/float64(rows), y/float64(rows))
		case rows == 0 && (p.A != nil || p.B != nil || p.Change != nil):
			t.Fatalf("%s: means of no rows", p.Pair)
		}
	}
}

// Each aspect is reported under its name, and can be left out of the verdict.
func TestAspects(t *testing.T) {
	own := func(change func(a *costs.Actions)) func(*costs.Tensor) {
		return func(b *costs.Tensor) {
			b.Actions = actionsOf(2, 2)
			change(b.Actions)
		}
	}
	for aspect, change := range map[string]func(b *costs.Tensor){
		AspectActions:    own(func(a *costs.Actions) { a.Experts[1].Name = "new" }),
		AspectFees:       own(func(a *costs.Actions) { a.Experts[1].Fee = 9; a.Advice[1].Fee = 8 }),
		AspectFeatures:   own(func(a *costs.Actions) { a.Features.Name = "words"; a.Digests[costs.FeatureDigest] = "g" }),
		AspectColumns:    func(b *costs.Tensor) { b.Labels = nil },
		AspectProvenance: func(b *costs.Tensor) { own(func(a *costs.Actions) { a.Digests["table"] = "u" })(b) },
		AspectMetadata:   func(b *costs.Tensor) { b.Meta = map[string]string{"made by": "another"} },
		AspectRows:       func(b *costs.Tensor) { b.IDs[3] = "new row" },
		AspectOrder:      func(b *costs.Tensor) { *b = *b.Subset([]int{1, 0, 2, 3, 4, 5, 6, 7, 8}) },
		AspectValues:     func(b *costs.Tensor) { b.Loss[5] = 7 },
	} {
		w := newWriter(t)
		whole := tensorOf(1, 9, 2, actionsOf(2, 2))
		b := whole.Subset(all(9))
		change(b)
		first, second := w.write(t, "a.parquet", whole), w.write(t, "b.parquet", b)
		if r := diffOf(t, first, second); r.Equal || !slices.Equal(r.Different, []string{aspect}) {
			t.Errorf("%s: different are %v, %+v", aspect, r.Different, r)
		}
		if r := diffOf(t, first, second, aspect); !r.Equal || !slices.Equal(r.Ignored, []string{aspect}) {
			t.Errorf("%s: ignored are %v", aspect, r.Ignored)
		}
	}
	if _, err := Diff(context.Background(), storage.File("x"), storage.File("y"), DiffOptions{Ignore: []string{"words"}}); err == nil || !strings.Contains(err.Error(), `unknown aspect "words"`) {
		t.Error(err)
	}
}

// Tensors of other pairs and other numbers of features are compared in what they
// share.
func TestDifferentShapes(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(3, 1))
	few := only(whole, []bool{true, false, true})
	few.Dim, few.Features = 1, few.Features[:9]
	few.Loss[0] = nan
	r := diffOf(t, w.write(t, "a.parquet", whole), w.write(t, "b.parquet", few))
	if !slices.Equal(r.Different, []string{AspectActions, AspectFeatures, AspectValues}) {
		t.Errorf("%v", r.Different)
	}
	if v := r.Values; len(v) != 1 || v[0].Column != "loss" || v[0].Unknown != 1 || v[0].Values != 1 || v[0].Largest != nil {
		t.Errorf("%+v", v)
	}
	var lines []string
	for _, p := range r.Pairs {
		lines = append(lines, fmt.Sprint(p.Pair, " ", p.Rows, " ", p.A != nil, " ", p.B != nil))
	}
	if want := []string{"e0/none 8 true true", "e1/none 9 true false", "e2/none 9 true true"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
