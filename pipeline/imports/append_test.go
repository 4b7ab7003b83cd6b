package imports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/internal/filelock"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// appendWorld is a folder with outcomes of two experts in wide form.
type appendWorld struct {
	t    *testing.T
	dir  string
	rows []string
}

const appendHeader = "id,user,when,answer,x,kind,colour,small,large,paid\n"

const appendConfig = `outcomes:
  file: FILE
  columns: {id: id, group: user, time: when, label: answer}
  wide:
    value: loss
    pairs: [{expert: small, column: small, fee: paid}, {expert: large, column: large, fee: paid}]
fees: {experts: {small: 0, large: 0.1}}
features: [{id: id, columns: [x], categorical: [kind, colour]}]
feature_name: words
split: {validation: 0.25, test: 0.25, seed: 3}
`

func newAppendWorld(t *testing.T, rows int) *appendWorld {
	w := &appendWorld{t: t, dir: t.TempDir()}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		w.rows = append(w.rows, fmt.Sprintf("q%02d,u%d,2026-01-%02dT12:00:00Z,yes,%.3f,k%d,c%d,%.2f,%.2f,%.2f\n",
			i, r.IntN(rows), 1+i%28, r.Float64(), i%3, i%2, r.Float64(), r.Float64(), r.Float64()))
	}
	return w
}

// table writes rows and a configuration that reads them, and returns the configuration.
func (w *appendWorld) table(name string, rows []string, edit ...string) string {
	w.t.Helper()
	text := strings.NewReplacer(edit...).Replace(strings.Replace(appendConfig, "FILE", name+".csv", 1))
	for file, content := range map[string]string{name + ".csv": appendHeader + strings.Join(rows, ""), name + ".yaml": text} {
		if err := os.WriteFile(filepath.Join(w.dir, file), []byte(content), 0o666); err != nil {
			w.t.Fatal(err)
		}
	}
	return filepath.Join(w.dir, name+".yaml")
}

func (w *appendWorld) out(name string) string { return filepath.Join(w.dir, name+".parquet") }

// run imports a configuration.
func (w *appendWorld) run(config, out string, change func(*Options)) (*Report, error) {
	o := Options{Config: storage.File(config), Out: storage.File(w.out(out))}
	if change != nil {
		change(&o)
	}
	return Run(context.Background(), o, nil)
}

func (w *appendWorld) must(config, out string, change func(*Options)) *Report {
	w.t.Helper()
	r, err := w.run(config, out, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// same checks that two tensors differ in nothing but their parts and the digests of their files.
func (w *appendWorld) same(a, b string) {
	w.t.Helper()
	r, err := grow.Diff(context.Background(), storage.File(w.out(a)), storage.File(w.out(b)), grow.DiffOptions{Ignore: []string{"provenance"}, Progress: stage.Quiet})
	if err != nil || !r.Equal {
		w.t.Errorf("%v, %v", r, err)
	}
}

func appended(o *Options)     { o.Append = true }
func appendedSame(o *Options) { o.Append, o.KeepSame = true, true }

// Rows that arrive in three tables give the tensor that they give in one, also if the tables have the old rows, and
// one row at a time.
func TestAppendIsTheImportOfAllRows(t *testing.T) {
	w := newAppendWorld(t, 40)
	w.must(w.table("all", w.rows), "all", nil)
	w.must(w.table("first", w.rows[:20]), "grown", nil)
	w.must(w.table("first", w.rows[:20]), "same", nil)
	r := w.must(w.table("second", w.rows[20:33]), "grown", appended)
	if a := r.Append; a == nil || a.Rows != 33 || r.Kept != 13 || a.OtherSplit != 0 || a.Same != 0 || r.Digest != a.Digest {
		t.Errorf("%+v", r.Append)
	}
	for _, row := range w.rows[33:] {
		w.must(w.table("one", []string{row}), "grown", appended)
	}
	w.same("all", "grown")
	r = w.must(w.table("more", w.rows), "same", appendedSame)
	if a := r.Append; a.Same != 20 || a.Rows != 40 {
		t.Errorf("%+v", a)
	}
	w.same("all", "same")
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "20 rows to 20, 20 more were known and are equal; now 40 (") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// What does not fit the tensor is an error, and leaves the tensor as it was.
func TestAppendRefuses(t *testing.T) {
	w := newAppendWorld(t, 30)
	w.must(w.table("old", w.rows[:20]), "costs", nil)
	before, err := os.ReadFile(w.out("costs"))
	if err != nil {
		t.Fatal(err)
	}
	newer := w.rows[20:]
	edited := func(from, to string) []string {
		rows := slices.Clone(newer)
		rows[3] = strings.Replace(rows[3], from, to, 1)
		return rows
	}
	for name, c := range map[string]struct {
		rows   []string
		edit   []string
		change func(*Options)
		want   string
	}{
		"known row":       {rows: w.rows[18:], change: appended, want: `column id: instance "q18": "q18" is a duplicate, first in row 19 of`},
		"changed row":     {rows: append(edited("x", "x"), strings.Replace(w.rows[5], "yes", "no", 1)), change: appendedSame, want: `column label: instance "q05": is "no", but "yes" in row 6 of`},
		"category":        {rows: edited("k2", "k7"), change: appended, want: `column kind: instance "q23" has the value "k7", for which the tensor has no feature; it has k0, k1, k2`},
		"fee":             {rows: newer, edit: []string{"large: 0.1", "large: 0.4"}, change: appended, want: `expert "large" 0.1, here 0.4; --fees old keeps`},
		"no fees":         {rows: newer, edit: []string{"fees: {experts: {small: 0, large: 0.1}}", ""}, change: appended, want: `expert "large" 0.1, here 0`},
		"expert":          {rows: newer, edit: []string{"expert: large", "expert: huge", "large: 0.1", "huge: 0.1"}, change: appended, want: `expert "huge" is not listed, or not in the tensor`},
		"listed expert":   {rows: newer, edit: []string{"feature_name", "experts: [large, small]\nfeature_name"}, change: appended, want: `have other actions than`},
		"features":        {rows: newer, edit: []string{"columns: [x]", "columns: [x], length: [user]"}, change: appended, want: `feature 1 is "length of user", but the tensor has kind=k0 there`},
		"feature columns": {rows: newer, edit: []string{"categorical: [kind, colour]", "categorical: [colour, kind]"}, change: appended, want: `has the value "c0", for which the tensor has no feature; it has no feature of this column where`},
		"label":           {rows: newer, edit: []string{", label: answer", ""}, change: appended, want: `column label: is missing from`},
		"measured fee":    {rows: newer, edit: []string{", fee: paid", "", ", fee: paid", ""}, change: appended, want: `column fee: is missing from`},
		"split":           {rows: newer, edit: []string{"split: {", "split: {kind: random, "}, change: appended, want: `split: kind random depends on all rows`},
		"by time":         {rows: newer, edit: []string{"split: {", "split: {kind: time, "}, change: appended, want: `split: kind time depends on all rows`},
		"no tensor":       {rows: newer, change: func(o *Options) { o.Append, o.Out = true, storage.File(w.out("absent")) }, want: `there is no tensor to add rows to`},
		"a folder":        {rows: newer, change: func(o *Options) { o.Append, o.Out = true, storage.File(w.dir) }, want: `is a folder of parts`},
		"not a tensor": {rows: newer, change: func(o *Options) {
			o.Append, o.Out = true, storage.File(w.out("new")[:len(w.out("new"))-8]+".csv.parquet")
		}, want: ``},
	} {
		if name == "not a tensor" {
			if err := os.WriteFile(filepath.Join(w.dir, "new.csv.parquet"), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.run(w.table("new", c.rows, c.edit...), "costs", c.change)
		var data *costs.DataError
		if name != "expert" && !errors.As(err, &data) || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	after, err := os.ReadFile(w.out("costs"))
	if err != nil || string(after) != string(before) {
		t.Error("the tensor has changed", err)
	}
}

// What differs can be accepted, and the result says so.
func TestAppendAccepts(t *testing.T) {
	w := newAppendWorld(t, 30)
	old := w.table("old", w.rows[:20])
	dear := w.table("dear", w.rows[20:], "large: 0.1", "large: 0.4")
	for prices, want := range map[string]float64{OldFees: 0.1, NewFees: 0.4} {
		w.must(old, prices, nil)
		r := w.must(dear, prices, func(o *Options) { o.Append, o.Fees = true, prices })
		tensor, err := costs.Read(t.Context(), storage.File(w.out(prices)), costs.ReadOptions{})
		if err != nil || tensor.Len() != 30 || tensor.Actions.Experts[1].Fee != want || len(r.Append.Changed) != 1 || r.Append.Fees != prices {
			t.Errorf("%s: %+v, %v", prices, r.Append, err)
		}
	}
	w.must(old, "costs", nil)
	rows := slices.Clone(w.rows[20:])
	rows[3] = strings.Replace(rows[3], "k2", "k7", 1)
	r := w.must(w.table("new", rows, "seed: 3", "seed: 4"), "costs", func(o *Options) { o.Append, o.NewCategories = true, true })
	if len(r.NewCategories) != 1 || r.NewCategories[0].Value != "k7" || r.NewCategories[0].Rows != 1 || r.Append.OtherSplit == 0 {
		t.Errorf("%+v, %+v", r.NewCategories, r.Append)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out("costs")), costs.ReadOptions{})
	if err != nil || !slices.Equal(tensor.Row(23)[1:4], []float32{0, 0, 0}) || tensor.Row(24)[1] != 1 {
		t.Errorf("features %v, %v", tensor.Row(23), err)
	}
}

// A changed price of time is said, not used in silence.
func TestAppendAtAnotherPriceOfTime(t *testing.T) {
	w := newAppendWorld(t, 30)
	at := func(name string, rows []string, perSecond string) string {
		return w.table(name, rows, ", fee: paid}", ", latency: paid}", "fees: {", "fees: {latency: {unit: s, per_second: "+perSecond+"}, fee_scale: 2, currency: USD, ")
	}
	w.must(at("old", w.rows[:20], "0.5"), "costs", nil)
	w.must(at("same", w.rows[20:25], "0.5"), "costs", appended)
	_, err := w.run(at("dear", w.rows[25:], "5"), "costs", appended)
	var data *costs.DataError
	if !errors.As(err, &data) || data.Column != costs.PricesKey || !strings.Contains(err.Error(), "pipe import --append takes the rows with --fees old") {
		t.Error(err)
	}
	r := w.must(at("dear", w.rows[25:], "5"), "costs", func(o *Options) { o.Append, o.Fees = true, OldFees })
	if r.Append.Rows != 30 || !slices.Contains(r.Append.Left, "metadata "+costs.PricesKey) {
		t.Errorf("%+v", r.Append)
	}
}

// Two runs do not append to one tensor at the same time: the later one would lose the rows of the earlier.
func TestAppendAlone(t *testing.T) {
	w := newAppendWorld(t, 30)
	w.must(w.table("old", w.rows[:20]), "costs", nil)
	lock, err := filelock.Existing(w.out("costs"))
	if err != nil {
		t.Fatal(err)
	}
	var used *filelock.InUseError
	if _, err := w.run(w.table("new", w.rows[20:]), "costs", appended); !errors.As(err, &used) {
		t.Error(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	w.must(w.table("new", w.rows[20:]), "costs", appended)
}
