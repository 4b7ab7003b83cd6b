package grow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
)

// The parts are recorded with the digests of their files.
func TestPartsAreRecorded(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(2, 2))
	first, second := whole.Subset(all(5)), whole.Subset(all(9)[5:])
	second.Actions = actionsOf(2, 2)
	second.Actions.Digests["table"] = "t2"
	folder := w.path("folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		w.write(t, fmt.Sprintf("folder/part-%d.parquet", i), second.Subset(all(4)[2*i:2*i+2]))
	}
	a := w.write(t, "a.parquet", first)
	r, err := Merge(context.Background(), storage.Files(a, folder), storage.File(w.path("m.parquet")), MergeOptions{Names: []string{"", "later"}})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, w.path("m.parquet"))
	parts, err := partsOf(got)
	if err != nil || len(parts) != 2 {
		t.Fatal(parts, err)
	}
	sum, err := costs.FileDigest(context.Background(), storage.File(a))
	if err != nil || parts[0].Digest != sum || parts[0].Rows != 5 || parts[0].Digests["table"] != "t" {
		t.Errorf("%+v, digest of the file %s, %v", parts[0], sum, err)
	}
	if parts[1].Name != "later" || parts[1].Rows != 4 || parts[1].Digests["table"] != "t2" || parts[1].Digest == "" {
		t.Errorf("%+v", parts[1])
	}
	if !slices.Equal(r.Digests, []string{"table"}) {
		t.Errorf("digests that differ: %v", r.Digests)
	}
	if d := got.Actions.Digests; len(d) != 1 || d[costs.FeatureDigest] != "f" {
		t.Errorf("digests of the result are %v", d)
	}
}

// spoiled is a pair of tensors that cannot be joined as they are.
type spoiled struct {
	change func(b *costs.Tensor)
	option MergeOptions
	want   string // part of the error
	remedy *MergeOptions
	plain  bool // neither file states the digest of its features, and the second no names
}

func unmergeable() map[string]spoiled {
	own := func(change func(a *costs.Actions)) func(*costs.Tensor) {
		return func(b *costs.Tensor) {
			b.Actions = actionsOf(2, 2)
			change(b.Actions)
		}
	}
	return map[string]spoiled{
		"fee of an expert": {
			change: own(func(a *costs.Actions) { a.Experts[1].Fee = 9 }), want: `fees differ from those of`,
			remedy: &MergeOptions{Fees: costs.FeeList{Experts: map[string]float64{"e1": 3}}},
		},
		"fee of advice": {
			change: own(func(a *costs.Actions) { a.Advice[1].Fee = 9 }), want: `advice "a1" 9, before 0.03125`,
			remedy: &MergeOptions{Fees: costs.FeeList{Advice: map[string]float64{"a1": 3}}},
		},
		"unknown expert in fees": {option: MergeOptions{Fees: costs.FeeList{Experts: map[string]float64{"x": 3}}}, want: `fee of expert "x": the files have no such expert`},
		"impossible fee":         {option: MergeOptions{Fees: costs.FeeList{Experts: map[string]float64{"e0": -1}}}, want: `the result`},
		"name of the features": {
			change: own(func(a *costs.Actions) { a.Features.Name = "words" }), want: `name of the features is "words", but "numbers" in`,
			remedy: &MergeOptions{FeatureName: "both"},
		},
		"digest of the features": {change: own(func(a *costs.Actions) { a.Digests[costs.FeatureDigest] = "g" }), want: `digest of the features is "g", but "f"`},
		"no digest":              {change: own(func(a *costs.Actions) { a.Digests = nil }), want: `digest of the features is none, but "f"`},
		"dimension":              {change: func(b *costs.Tensor) { b.Dim, b.Features = 1, b.Features[:b.Len()] }, want: `number of features is "1", but "2"`},
		"names":                  {change: func(b *costs.Tensor) { b.Meta = map[string]string{costs.NamesKey: `["u","w"]`} }, want: `name of feature 1 is "w", but "v"`},
		"no names":               {change: own(func(a *costs.Actions) { a.Digests = nil }), plain: true, want: `names of the features is none, but "2 names"`},
		"damaged names":          {change: func(b *costs.Tensor) { b.Meta = map[string]string{costs.NamesKey: `{`} }, want: `is not a list of names`},
		"damaged parts": {
			change: func(b *costs.Tensor) { b.Meta = map[string]string{costs.NamesKey: `["u","v"]`, partsKey: "[{}"} }, want: `is not a list of parts`,
		},
		"no money":   {change: func(b *costs.Tensor) { b.Meta = map[string]string{costs.NamesKey: `["u","v"]`, costs.MoneyKey: "{}"} }, want: `column pipe.money: differs from`, remedy: &MergeOptions{Drop: []string{costs.MoneyKey}}},
		"prices":     {change: func(b *costs.Tensor) { b.Meta = map[string]string{costs.NamesKey: `["u","v"]`, costs.PricesKey: "{}"} }, want: `measured fees were computed at other prices; pipe merge --drop pipe.prices`, remedy: &MergeOptions{Drop: []string{costs.PricesKey}}},
		"no labels":  {change: func(b *costs.Tensor) { b.Labels = nil }, want: `column label: is missing from`, remedy: &MergeOptions{Drop: []string{"label"}}},
		"no groups":  {change: func(b *costs.Tensor) { b.Groups = nil }, want: `--drop group`, remedy: &MergeOptions{Drop: []string{"group"}}},
		"no group":   {change: func(b *costs.Tensor) { b.Groups = nil }, want: `--fill-group makes each row`, remedy: &MergeOptions{FillGroup: true}},
		"no times":   {change: func(b *costs.Tensor) { b.Times = nil }, want: `--drop time`, remedy: &MergeOptions{Drop: []string{"time"}}},
		"no time":    {change: func(b *costs.Tensor) { b.Times = nil }, want: `--fill-time TIME says`, remedy: &MergeOptions{FillTime: time.Unix(7, 0)}},
		"no fee":     {change: func(b *costs.Tensor) { b.Fee = nil }, want: `--drop fee leaves measured fees out`, remedy: &MergeOptions{Drop: []string{"fee"}}},
		"filled fee": {change: func(b *costs.Tensor) { b.Fee = nil }, option: MergeOptions{FillFee: true}, want: `so what is not known of their calls is not 0`},
		"other rows": {change: own(func(a *costs.Actions) { a.Experts[1].Name = "new" }), want: `do not have the same actions (expert 1 is "new", not "e1"), so they are joined side by side; that needs the same rows`},
		"another order": {
			change: own(func(a *costs.Actions) { slices.Reverse(a.Experts) }),
			want:   `both have the same experts and advice in another order, which the lists experts and advice`,
		},
		"rows are wanted": {
			change: own(func(a *costs.Actions) { a.Experts[1].Name = "new" }), option: MergeOptions{Mode: Rows}, want: `expert 1 is "new", not "e1"`,
		},
		"pairs are wanted":     {option: MergeOptions{Mode: Pairs}, want: `column id: "row-000000" is not in`},
		"unknown mode":         {option: MergeOptions{Mode: "both"}, want: `mode "both"`},
		"unknown column":       {option: MergeOptions{Drop: []string{"loss"}}, want: `"loss" cannot be left out`},
		"another no advice":    {change: own(func(a *costs.Actions) { a.Advice[0].Name = "alone" }), want: `the absence of advice is called "alone", but "none"`},
		"pairs are not there":  {change: own(func(a *costs.Actions) { a.Unavailable = []costs.Pair{{Expert: 1, Advice: 1}} }), option: MergeOptions{Mode: Rows}, want: `is unavailable in only one`},
		"duplicate in a file":  {change: func(b *costs.Tensor) { b.IDs[1] = "row-000003" }, option: MergeOptions{KeepSame: true}, want: `row 2: column`},
		"conflicting features": {change: func(b *costs.Tensor) { b.IDs[0] = "row-000001" }, option: MergeOptions{KeepSame: true}, want: `which has the same id "row-000001"`},
	}
}

// Whatever files do not share is an error that says what, and what to do.
func TestUnmergeableFiles(t *testing.T) {
	for name, c := range unmergeable() {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t)
			whole := tensorOf(1, 9, 2, actionsOf(2, 2))
			whole.Meta = map[string]string{costs.NamesKey: `["u","v"]`}
			a, b := whole.Subset(all(5)), whole.Subset(all(9)[5:])
			if c.change != nil {
				c.change(b)
			}
			if c.plain {
				a.Actions, b.Meta = b.Actions, nil
			}
			if slices.Contains([]string{"pairs are not there"}, name) {
				for n := range b.IDs {
					b.Loss[n*4+3] = nan
				}
			}
			files := []string{w.write(t, "a.parquet", a), w.write(t, "b.parquet", b)}
			out := w.path("out.parquet")
			if _, err := Merge(context.Background(), storage.Files(files...), storage.File(out), c.option); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
			if left, _ := os.ReadDir(w.dir); len(left) != 2 {
				t.Errorf("files %v", left)
			}
			if c.remedy == nil {
				return
			}
			if _, err := Merge(context.Background(), storage.Files(files...), storage.File(out), *c.remedy); err != nil {
				t.Errorf("with its remedy: %v", err)
			}
		})
	}
}

// Pairs of the same rows whose instances differ are an error, wherever it is.
func TestOtherInstances(t *testing.T) {
	whole := tensorOf(1, 40, 2, actionsOf(2, 1))
	whole.Propensity = nil // one pair of two alone has the probability 1
	for name, change := range map[string]func(b *costs.Tensor){
		"split":       func(b *costs.Tensor) { b.Splits[7] = (b.Splits[7] + 1) % 3 },
		"group":       func(b *costs.Tensor) { b.Groups[7] += "x" },
		"time":        func(b *costs.Tensor) { b.Times[7]++ },
		"label":       func(b *costs.Tensor) { b.Labels[7] += "x" },
		"features[1]": func(b *costs.Tensor) { b.Features[15]++ },
	} {
		w := newWriter(t)
		b := only(whole, []bool{false, true})
		change(b)
		files := []string{w.write(t, "a.parquet", only(whole, []bool{true, false})), w.write(t, "b.parquet", b)}
		_, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("out.parquet")), MergeOptions{})
		if !isData(err, name, 8) || !strings.Contains(err.Error(), `which has the same id "row-000007"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A report is one JSON object with the names of docs/growing.md.
func TestMergeReport(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(2, 2))
	whole.Groups = []string{"u", "u", "u", "v", "w", "u", "v", "x", "y"}
	whole.Splits = []costs.Split{0, 0, 1, 0, 0, 0, 2, 0, 0}
	a, b := whole.Subset(all(5)), whole.Subset(all(9)[5:])
	b.Meta = map[string]string{"made by": "another"}
	files := []string{w.write(t, "a.parquet", a), w.write(t, "b.parquet", b)}
	r, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("out.parquet")), MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"mode":"rows","rows":9,"splits":{"test":1,"train":7,"val":1},"actions":4,"dim":2`, fmt.Sprintf(`{"file":%q,"rows":4}`, files[1]),
		`"groups":5,"shared_groups":2,"divided":2,"divided_by_merging":1,"first_divided":["u","v"],"left_out":["metadata made by"]`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s\nhas no %s", text, part)
		}
	}
}

// A merge that is stopped leaves the old file.
func TestStoppedMerge(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(2, 2))
	files := []string{w.write(t, "a.parquet", whole.Subset(all(5))), w.write(t, "b.parquet", whole.Subset(all(9)[5:]))}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	before := bytesOf(t, files[0])
	if _, err := Merge(ctx, storage.Files(files...), storage.File(files[0]), MergeOptions{}); !errors.Is(err, context.Canceled) || bytesOf(t, files[0]) != before {
		t.Error(err)
	}
	if left, _ := os.ReadDir(w.dir); len(left) != 2 {
		t.Errorf("files %v", left)
	}
}

// Rows that are appended from memory are those that a merge of the two files
// appends, and errors name the instance.
func TestAppend(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(2, 2))
	whole.Loss[len(whole.Loss)-1] = nan
	first, second := whole.Subset(all(5)), whole.Subset(all(9)[5:])
	old := w.write(t, "old.parquet", first)
	files := []string{old, w.write(t, "new.parquet", second)}
	if _, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("merged.parquet")), MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	r, err := Append(context.Background(), storage.File(old), second, storage.File("new.csv"), storage.File(old), MergeOptions{Watch: func(_ int, rows *costs.Tensor) { seen += rows.Len() }})
	if err != nil || r.Rows != 9 || r.Inputs[1].Rows != 4 || seen != 9 {
		t.Fatalf("%+v, %v, %d rows seen", r, err, seen)
	}
	if d := difference(read(t, w.path("merged.parquet")), read(t, old)); d != "" {
		t.Errorf("appended differs from merged:\n%s", d)
	}
	parts, err := partsOf(read(t, old))
	if err != nil || len(parts) != 2 || parts[1].Name != "new.csv" || parts[1].Digest != "tensor:"+second.Digest() {
		t.Errorf("%+v, %v", parts, err)
	}
	before := bytesOf(t, old)
	second.Labels[2] += "x"
	for want, o := range map[string]MergeOptions{
		`"new.csv": column id: instance "row-000005": "row-000005" is a duplicate, first in row 6 of`: {},
		`"new.csv": column label: instance "row-000007": is "class`:                                   {KeepSame: true},
	} {
		if _, err := Append(context.Background(), storage.File(old), second, storage.File("new.csv"), storage.File(old), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if bytesOf(t, old) != before {
		t.Error("a failed append changed the file")
	}
}

// A file whose features have the same digest gets their names, whichever comes first.
func TestNamesFollowFromTheDigest(t *testing.T) {
	for first := range 2 {
		w := newWriter(t)
		whole := tensorOf(1, 9, 2, actionsOf(2, 2))
		parts := []*costs.Tensor{whole.Subset(all(5)), whole.Subset(all(9)[5:])}
		parts[first].Meta = map[string]string{costs.NamesKey: `["u","v"]`}
		parts[1-first].Meta = nil
		files := []string{w.write(t, "a.parquet", parts[0]), w.write(t, "b.parquet", parts[1])}
		r, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("out.parquet")), MergeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if names := read(t, r.File).Meta[costs.NamesKey]; names != `["u","v"]` || len(r.Left) > 0 {
			t.Errorf("names %s, left out %v", names, r.Left)
		}
	}
}

// Rows of a file without times and groups get the time that is given, and groups of their own; those of the other file stay.
func TestFilledColumns(t *testing.T) {
	w := newWriter(t)
	whole := tensorOf(1, 9, 2, actionsOf(2, 2))
	a, b := whole.Subset(all(5)), whole.Subset(all(9)[5:])
	a.Times, a.Groups = nil, nil
	a.Usage[costs.TokensCached], b.Usage[costs.TokensCached] = nil, make([]float32, len(b.Loss))
	files := []string{w.write(t, "a.parquet", a), w.write(t, "b.parquet", b)}
	r, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("out.parquet")), MergeOptions{FillTime: time.UnixMicro(7), FillGroup: true})
	if err != nil || !slices.Equal(r.NoUsage, []string{"tokens_cached of a.parquet"}) {
		t.Fatal(r, err)
	}
	got := read(t, w.path("out.parquet"))
	for n, id := range got.IDs {
		at, group := int64(7), "row "+id
		if n >= 5 {
			at, group = whole.Times[n], whole.Groups[n]
		}
		if v := got.Usage[costs.TokensCached][4*n]; (v != v) != (n < 5) {
			t.Errorf("row %d: %v cached tokens", n, v)
		}
		if got.Times[n] != at || got.Groups[n] != group {
			t.Errorf("row %d: time %d, group %q", n, got.Times[n], got.Groups[n])
		}
	}
}

func partsOf(t *costs.Tensor) ([]part, error) {
	return (&input{columns: costs.WriterOptions{Meta: t.Meta}}).mergedFrom()
}
