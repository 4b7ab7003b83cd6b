package grow

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// A fact that a file lacks is not known of its rows, one that is dropped is gone, and one of another kind is an error.
func TestFactsOfOneFile(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(3, 10, 2, actionsOf(2, 2))
	a, b := whole.Subset(all(5)), whole.Subset(all(10)[5:])
	b.Facts = slices.Delete(b.Facts, 1, 2)
	paths := []string{w.write(t, "a.parquet", a), w.write(t, "b.parquet", b)}
	out := w.path("out.parquet")
	merge := func(drop ...string) (*MergeReport, error) {
		return Merge(context.Background(), storage.Files(paths...), storage.File(out), MergeOptions{Drop: drop})
	}
	r, err := merge("observed_label")
	if err != nil || !slices.Equal(r.NoUsage, []string{"observed_finish of b.parquet"}) {
		t.Fatal(err, r)
	}
	got := read(t, out)
	if len(got.Facts) != 2 || got.Fact("label") != nil || got.Fact("confidence") == nil {
		t.Fatalf("%+v", got.Facts)
	}
	for i := range got.Loss {
		want := ""
		if i < len(a.Loss) {
			want = a.Facts[1].Text(i)
		}
		if got.Fact("finish").Text(i) != want {
			t.Fatalf("cell %d is %q, want %q", i, got.Fact("finish").Text(i), want)
		}
	}
	d := diffOf(t, paths[0], paths[1])
	if !slices.Equal(d.Columns, []Change{{"observed_finish", "texts", ""}}) {
		t.Error(d.Columns)
	}

	b.Facts[1] = costs.NewFacts(costs.Fact{Name: "label"}, len(b.Loss))
	paths[1] = w.write(t, "b.parquet", b)
	if d := diffOf(t, paths[0], paths[1]); len(d.Columns) != 2 || d.Columns[1] != (Change{"observed_label", "texts", "numbers"}) {
		t.Error(d.Columns)
	}
	_, err = merge()
	if !isData(err, "observed_label", 0) || !strings.Contains(err.Error(), "has numbers, but texts in") || !strings.Contains(err.Error(), "--drop observed_label") {
		t.Error(err)
	}
	if _, err = merge("observed_label"); err != nil {
		t.Error(err)
	}
	if _, err = merge("observed_label", "observed_finish", "observed_confidence"); err != nil || read(t, out).Facts != nil {
		t.Error("without facts:", err)
	}
	if _, err = merge("loss"); err == nil || !strings.Contains(err.Error(), `"loss" cannot be left out`) {
		t.Error(err)
	}
}
