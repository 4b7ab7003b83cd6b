package play

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// world writes a table and a cascade for it, and returns options that play it.
func world(t *testing.T, change func(*costs.Tensor)) (*costs.Tensor, decide.StreamOptions) {
	t.Helper()
	dir, tensor := t.TempDir(), coststest.Looks(500, 4)
	m, err := cascadetest.Looks(tensor, 3).Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(filepath.Join(dir, "cascade.onnx")); err != nil {
		t.Fatal(err)
	}
	change(tensor)
	o := decide.DefaultStreamOptions()
	o.Policy, o.In = storage.File(filepath.Join(dir, "cascade.onnx")), storage.File(filepath.Join(dir, "costs.parquet"))
	if err := costs.Write(t.Context(), o.In, tensor); err != nil {
		t.Fatal(err)
	}
	return tensor, o
}

// Every format says the same, and that is what the rule of the cascade does: large after small where small is not sure, at the fees of
// both, measured ones included. Losses may be unknown.
func TestStream(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor, o := world(t, func(tensor *costs.Tensor) {
		for i := range tensor.Loss {
			tensor.Fee = append(tensor.Fee, float32(i%5)/128)
			if i%3 == 0 {
				tensor.Loss[i] = float32(math.NaN())
			}
		}
		tensor.Fee[4*7+0], tensor.Loss[4*7+0] = float32(math.NaN()), float32(math.NaN()) // unknown: the pair was not run on the row
		tensor.Facts[0].Data[4*7], tensor.Facts[1].Data[4*7] = float32(math.NaN()), float32(math.NaN())
		tensor.Facts = append(tensor.Facts, costs.Facts{Fact: costs.Fact{Name: "length"}, Data: make([]float32, len(tensor.Loss))}) // which the cascade does not look at
	})
	var want []line
	for n := range tensor.Len() {
		l := line{ID: tensor.IDs[n], Expert: "small", Advice: "none", Executed: []string{"small/none"}, Stages: 1}
		fees := 0.02 + float64(tensor.Fee[4*n])
		sure := tensor.Facts[0].Data[4*n]
		if sure != sure {
			sure = 0.5
		}
		if l.ExpectedLoss = 1 - sure; l.ExpectedLoss > 0.25 {
			l.Action, l.Expert, l.ExpertIndex, l.Stages, l.ExpectedLoss = 2, "large", 1, 2, 0.05
			l.Executed = append(l.Executed, "large/none")
			fees += 0.2 + float64(tensor.Fee[4*n+2])
		}
		if !math.IsNaN(fees) {
			l.Fees = &fees
		}
		want = append(want, l)
	}
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		o.Out = storage.File(filepath.Join(t.TempDir(), "out."+format))
		done, err := Stream(t.Context(), rt, o, nil, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		compareLines(t, format, readLines(t, format, o.Out.String()), want)
		if done.Rows != 500 || done.Unseen != 1 || done.Chosen["small/none"] != done.Stages[0] || done.Executed["large/none"] != done.Stages[1] || done.Stages[0]+done.Stages[1] != 500 {
			t.Errorf("%s: %+v", format, done)
		}
	}
}

// An any-price cascade plays and pays at the prices that are asked, whatever the fees of the table; left out pairs are not executed. One with
// fixed prices is played without pairs too, at the fees of the table.
func TestStreamAtPrices(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor, o := world(t, func(tensor *costs.Tensor) { tensor.Actions.Experts[0].Fee = 0.03 })
	fixed := o.Policy
	m, err := cascadetest.AnyPrice(coststest.Looks(500, 4)).Export()
	if err != nil {
		t.Fatal(err)
	}
	o.Policy = storage.File(filepath.Join(t.TempDir(), "any.onnx"))
	if err := m.WriteFile(o.Policy.String()); err != nil {
		t.Fatal(err)
	}
	large := func(fee float64) policy.PriceChange {
		return policy.PriceChange{Fees: []policy.Fee{{Of: policy.Expert("large"), Amount: fee}}}
	}
	alone := []policy.Part{policy.Expert("large"), policy.Advice("search")} // small alone is left
	for name, c := range map[string]struct {
		file         storage.Location
		change       policy.PriceChange
		small, large float64 // what is paid
		follows      float32 // the expected loss above which large follows
		checked      bool
	}{
		"as trained":    {o.Policy, policy.PriceChange{}, 0.02, 0.2, 0.25, true},
		"cheap":         {o.Policy, large(0.1), 0.02, 0.1, 0.15, true},
		"dear":          {o.Policy, large(0.6), 0.02, 0.6, 0.65, true},
		"very dear":     {o.Policy, large(0.9), 0.02, 0.9, 0.95, false},
		"without large": {o.Policy, policy.PriceChange{Without: alone}, 0.02, 0, 9, false},
		"fixed":         {fixed, policy.PriceChange{}, 0.03, 0.2, 0.25, true},
		"fixed without": {fixed, policy.PriceChange{Without: alone}, 0.03, 0, 9, true},
	} {
		o.Policy, o.Prices, o.Out = c.file, c.change, storage.File(filepath.Join(t.TempDir(), "out.jsonl"))
		done, err := Stream(t.Context(), rt, o, nil, stage.Quiet)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := done.Prices != nil; got != (c.file != fixed) || got && (len(done.Prices.Unchecked) == 0) != c.checked {
			t.Errorf("%s: prices %+v", name, done.Prices)
		}
		if len(done.ChangedFees) == 0 {
			t.Errorf("%s: nothing is said of the fees of the table", name)
		}
		for n, l := range readLines(t, "jsonl", o.Out.String()) {
			want, fees := []string{"small/none"}, c.small
			if 1-tensor.Facts[0].Data[4*n] > c.follows {
				want, fees = append(want, "large/none"), fees+c.large
			}
			if !slices.Equal(l.Executed, want) || math.Abs(*l.Fees-fees) > 1e-9 {
				t.Fatalf("%s, row %d: %+v, want %v for %g", name, n, l, want, fees)
			}
		}
	}
	for _, c := range []struct {
		want   string
		change policy.PriceChange
		list   storage.Location
	}{
		{"the policy has fixed prices, those of lambda 3", large(1), storage.Location{}},
		{"knows nothing of what calls use", policy.PriceChange{}, o.In},
		{`unknown expert "other"`, policy.PriceChange{Without: []policy.Part{policy.Expert("other")}}, storage.Location{}},
	} {
		o.Policy, o.Prices, o.PriceFile, o.Out = fixed, c.change, c.list, storage.File(filepath.Join(t.TempDir(), "out.csv"))
		_, err := Stream(t.Context(), rt, o, nil, stage.Quiet)
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		left(t, o)
	}
}

func compareLines(t *testing.T, format string, got, want []line) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d lines, want %d", format, len(got), len(want))
	}
	for n, g := range got {
		w := want[n]
		near := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 }
		fees := (g.Fees == nil) == (w.Fees == nil) && (g.Fees == nil || math.Abs(*g.Fees-*w.Fees) < 1e-9)
		if !near(g.ExpectedLoss, w.ExpectedLoss) || !near(g.ExpectedCost, 0.12) || !fees || !slices.Equal(g.Executed, w.Executed) {
			t.Fatalf("%s, row %d: %+v, want %+v", format, n, g, w)
		}
		g.ExpectedLoss, g.ExpectedCost, g.Fees, g.Executed = w.ExpectedLoss, w.ExpectedCost, w.Fees, w.Executed
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Fatalf("%s, row %d: %+v, want %+v", format, n, g, w)
		}
	}
}

func readLines(t *testing.T, format, path string) (out []line) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch format {
	case "parquet":
		if out, err = parquet.Read[line](bytes.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	case "jsonl":
		for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
			var l line
			if err := d.Decode(&l); err != nil {
				t.Fatal(err)
			}
			out = append(out, l)
		}
	default:
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
		for _, r := range rows[1:] {
			l := line{ID: r[0], Action: int32(number(r[1])), Expert: r[2], Advice: r[3], ExpertIndex: int32(number(r[4])), AdviceIndex: int32(number(r[5])), Stages: int32(number(r[6]))}
			l.Executed = slices.DeleteFunc(r[7:9], func(s string) bool { return s == "" })
			l.ExpectedLoss, l.ExpectedCost = float32(number(r[9])), float32(number(r[10]))
			if r[11] != "" {
				fees := number(r[11])
				l.Fees = &fees
			}
			out = append(out, l)
		}
	}
	return out
}

// A cascade with a guarantee has one more column, and the others are as without.
func TestStreamOfAGuarantee(t *testing.T) {
	rt := orttest.Open(t, 1)
	_, o := world(t, func(*costs.Tensor) {})
	plain, err := cascade.Open(rt, o.Policy.String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	lines := map[string][]line{}
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		o.Out = storage.File(filepath.Join(t.TempDir(), "out."+format))
		if _, err := Stream(t.Context(), rt, o, nil, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		lines[format] = readLines(t, format, o.Out.String())
	}
	m, _, err := cascade.Read(o.Policy.String())
	if err == nil {
		m, err = cascadetest.Guarded(m, 0.1)
	}
	if err == nil {
		err = m.WriteFile(o.Policy.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range lines {
		o.Out = storage.File(filepath.Join(t.TempDir(), "out."+format))
		done, err := Stream(t.Context(), rt, o, nil, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		accepted := acceptedIn(t, format, o.Out.String())
		count := int64(0)
		for n, l := range want {
			if accepts := l.ExpectedLoss <= 0.1; accepted[n] != accepts {
				t.Fatalf("%s, row %d: accepted %v, with a loss of %g", format, n, accepted[n], l.ExpectedLoss)
			} else if accepts {
				count++
			}
		}
		if done.Accepted == nil || *done.Accepted != count || count < 100 || count > 450 {
			t.Errorf("%s: %d are accepted: %+v", format, count, done)
		}
		got := readLines(t, format, o.Out.String())
		for n := range got {
			got[n].Accepted = nil
		}
		compareLines(t, format, got, want)
	}
}

// acceptedIn is the last column of an output.
func acceptedIn(t *testing.T, format, path string) (out []bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch format {
	case "parquet":
		rows, err := parquet.Read[guardedLine](bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			out = append(out, r.Accepted)
		}
	case "jsonl":
		for _, l := range readLines(t, format, path) {
			out = append(out, *l.Accepted)
		}
	default:
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || rows[0][len(rows[0])-1] != "accepted" {
			t.Fatal(err, rows[0])
		}
		for _, r := range rows[1:] {
			out = append(out, r[len(r)-1] == "true")
		}
	}
	return out
}

// What cannot be played leaves no output, and says why; neither does a run that is ended.
func TestStreamLeavesNothingHalf(t *testing.T) {
	rt := orttest.Open(t, 1)
	for want, change := range map[string]func(*costs.Tensor){
		"it has no observed_confidence (numbers), observed_label (categories)": func(t *costs.Tensor) { t.Facts = nil },
		"does not have: observed_confidence (numbers)":                         func(t *costs.Tensor) { t.Facts = t.Facts[1:] },
		`expert 1 is "large", not "other"`: func(t *costs.Tensor) {
			a := *t.Actions
			a.Experts = []costs.Expert{a.Experts[0], {Name: "other"}}
			t.Actions = &a
		},
	} {
		_, o := world(t, change)
		o.Out = storage.File(filepath.Join(t.TempDir(), "out.csv"))
		_, err := Stream(t.Context(), rt, o, nil, stage.Quiet)
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cascade.onnx") {
			t.Errorf("error %v, want %q", err, want)
		}
		left(t, o)
	}
	_, o := world(t, func(*costs.Tensor) {})
	o.Out = storage.File(filepath.Join(t.TempDir(), "out.parquet"))
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Stream(ended, rt, o, nil, stage.Quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	left(t, o)
	o.Out = o.In
	var option *stage.OptionError
	if _, err := Stream(t.Context(), rt, o, nil, stage.Quiet); !errors.As(err, &option) {
		t.Errorf("the output is the input: %v", err)
	}
}

func left(t *testing.T, o decide.StreamOptions) {
	t.Helper()
	if files, err := os.ReadDir(filepath.Dir(o.Out.String())); err != nil || len(files) > 0 {
		t.Errorf("left %v, %v", files, err)
	}
}
