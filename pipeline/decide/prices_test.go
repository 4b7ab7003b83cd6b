package decide

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// dear are prices that differ from those of decidetest.AnyPrice.
func dear() policy.PriceChange {
	lambda := 0.5
	return policy.PriceChange{Lambda: &lambda, Fees: []policy.Fee{{Of: policy.Expert("a, or b"), Amount: 0.4}, {Of: policy.Advice("short"), Amount: 0.02}}, Without: []policy.Part{policy.Expert("c")}}
}

// pricedRows are the decisions of the graph at the prices of dear, on rows of which features is the CSV.
func pricedRows(t *testing.T, rt *ort.Runtime, path string, n int) (want *policy.Decisions, features string) {
	t.Helper()
	d, err := policy.Open(rt, path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	features = "x,y,z\n"
	var x []float32
	for i := range 3 * n {
		v := float32(i*i%17)/4 - 2
		x = append(x, v)
		features += strconv.FormatFloat(float64(v), 'g', -1, 32) + ",\n"[i%3/2:i%3/2+1]
	}
	exists := d.Info().Actions.Mask()
	at := &policy.Prices{Lambda: 1, Experts: []float64{0.4, 0.1, 0.1}, Advice: []float64{0, 0.01, 0.1}, Available: slices.Concat(exists[:6], make([]bool, 3))}
	if want, err = d.DecideAt(t.Context(), at, x, n); err != nil {
		t.Fatal(err)
	}
	return want, features
}

func streamed(t *testing.T, rt *ort.Runtime, o StreamOptions, rows string) (string, *Summary) {
	t.Helper()
	var out bytes.Buffer
	sum, err := Stream(t.Context(), rt, o, strings.NewReader(rows), &out, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sum
}

// Decisions at prices are those of the graph with these prices as inputs, in every format and in memory.
func TestDecideAtPrices(t *testing.T) {
	rt := orttest.Open(t, 1)
	o := DefaultStreamOptions()
	o.Policy, o.InFormat, o.Scores, o.Prices = storage.File(decidetest.WritePolicy(t, decidetest.AnyPrice(3))), formatCSV, true, dear()
	const n, pairs, gap = 50, 9, 5 // "quoted"/long does not exist
	want, rows := pricedRows(t, rt, o.Policy.String(), n)
	if slices.Min(want.Action) == slices.Max(want.Action) {
		t.Fatal("the rows say little: one pair is always chosen")
	}
	check := func(format string, row int, action int, loss, cost float32, scores, losses, costs []float32) {
		t.Helper()
		at := row * pairs
		if action != int(want.Action[row]) || loss != want.Loss[at+action] || cost != want.Cost[at+action] {
			t.Fatalf("%s row %d: action %d, loss %g, cost %g", format, row, action, loss, cost)
		}
		if !slices.Equal(scores, want.Scores[at:at+pairs]) || !slices.Equal(losses[:gap], want.Loss[at:at+gap]) || !slices.Equal(costs[gap+1:], want.Cost[at+gap+1:at+pairs]) {
			t.Fatalf("%s row %d: scores %v, losses %v, costs %v", format, row, scores, losses, costs)
		}
	}

	o.OutFormat = formatCSV
	text, sum := streamed(t, rt, o, rows)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(records[0][5:9], " ") + " " + records[0][17] + " " + records[0][34]; got != "advice_index expected_loss expected_cost score a, or b/none expected_loss a, or b/none expected_cost c/long" {
		t.Errorf("header %s", got)
	}
	for i, r := range records[1:] {
		if r[17+gap] != "" || r[26+gap] != "" {
			t.Fatalf("estimates %q and %q of a pair that does not exist", r[17+gap], r[26+gap])
		}
		var numbers []float32
		for _, cell := range r[6:] {
			v, _ := strconv.ParseFloat(cell, 32)
			numbers = append(numbers, float32(v))
		}
		action, _ := strconv.Atoi(r[1])
		check("csv", i, action, numbers[0], numbers[1], numbers[2:11], numbers[11:20], numbers[20:29])
	}

	o.OutFormat = formatJSONL
	text, _ = streamed(t, rt, o, rows)
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var r struct {
			Action int
			Loss   float32    `json:"expected_loss"`
			Cost   float32    `json:"expected_cost"`
			Losses []*float32 `json:"expected_losses"`
			Costs  []*float32 `json:"expected_costs"`
			Scores []float32
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Losses[gap] != nil || r.Costs[gap] != nil {
			t.Fatal("an estimate of a pair that does not exist")
		}
		check("jsonl", i, r.Action, r.Loss, r.Cost, r.Scores, values(r.Losses), values(r.Costs))
	}

	o.Out, o.OutFormat = storage.File(filepath.Join(t.TempDir(), "out.parquet")), formatParquet
	streamed(t, rt, o, rows)
	table, err := parquet.ReadFile[estimatedScoredRow](o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range table {
		if !math.IsNaN(float64(r.Losses[gap])) {
			t.Fatalf("estimate %g of a pair that does not exist", r.Losses[gap])
		}
		check("parquet", i, int(r.Action), r.Loss, r.Cost, r.Scores, r.Losses, r.Costs)
	}

	r, err := Open(t.Context(), o.Policy.String(), Options{Prices: dear(), Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d, err := r.Features(t.Context(), []float32{-2, -1.75, -1})
	if err != nil {
		t.Fatal(err)
	}
	check("in memory", 0, d.Action, d.Loss[d.Action], d.Cost[d.Action], d.Scores, d.Loss, d.Cost)
	if ranked := r.Ranked(d); len(ranked) != 5 || ranked[0] != d.Action || slices.Max(ranked) >= 6 {
		t.Errorf("ranked %v", ranked)
	}
	if _, err := r.Without(d, policy.Expert("a, or b"), policy.Expert(`"quoted"`)); err == nil {
		t.Error("a decision without any pair that the prices leave")
	}
	if p := sum.Prices; p == nil || p.Lambda != 0.5 || p.Experts["a, or b"] != 0.4 || p.Advice["short"] != 0.02 || p.Advice["long"] != 0.2 || len(p.Unchecked) != 3 {
		t.Errorf("summary %+v", sum.Prices)
	}
}

func values(of []*float32) []float32 {
	out := make([]float32, len(of))
	for i, v := range of {
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// Without flags, an any-price policy decides at the prices of its training, and has the estimates of the chosen pair.
func TestDecideAtTrainedPrices(t *testing.T) {
	rt, o := orttest.Open(t, 1), DefaultStreamOptions()
	o.Policy, o.InFormat = storage.File(decidetest.WritePolicy(t, decidetest.AnyPrice(3))), formatCSV
	text, sum := streamed(t, rt, o, "x,y,z\n1,2,3\n")
	if !strings.HasPrefix(text, "id,action,expert,advice,expert_index,advice_index,expected_loss,expected_cost\n") || len(sum.Prices.Unchecked) != 0 || sum.Prices.Lambda != 1 {
		t.Errorf("%s%+v", text, sum.Prices)
	}
	o.Out = storage.File(filepath.Join(t.TempDir(), "out.parquet"))
	streamed(t, rt, o, "x,y,z\n1,2,3\n")
	table, err := parquet.ReadFile[estimatedRow](o.Out.String())
	if err != nil || len(table) != 1 {
		t.Fatalf("%v, %v", table, err)
	}
	cells := strings.Split(strings.Split(text, "\n")[1], ",")
	if got := strconv.FormatFloat(float64(table[0].Cost), 'g', -1, 32); got != cells[len(cells)-1] || table[0].Loss >= table[0].Cost {
		t.Errorf("%+v, in CSV %v", table[0], cells)
	}
}

// Prices that do not fit are an error about the options, before anything is written.
func TestDecideRefusesPrices(t *testing.T) {
	rt, lambda := orttest.Open(t, 1), 0.5
	anyPrice, fixed := decidetest.WritePolicy(t, decidetest.AnyPrice(3)), decidetest.WritePolicy(t, decidetest.Policy(3, 4))
	for want, c := range map[string]struct {
		policy string
		change policy.PriceChange
	}{
		"pipe train --any-price":    {fixed, policy.PriceChange{Lambda: &lambda}},
		"fixed prices, those of la": {fixed, policy.PriceChange{Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 1}}}},
		"unknown expert":            {anyPrice, policy.PriceChange{Fees: []policy.Fee{{Of: policy.Expert("d"), Amount: 1}}}},
		"set twice":                 {anyPrice, policy.PriceChange{Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 1}, {Of: policy.Expert("c"), Amount: 1}}}},
		"no action remains":         {anyPrice, policy.PriceChange{Without: []policy.Part{policy.Expert("c"), policy.Expert("a, or b"), policy.Expert(`"quoted"`)}}},
	} {
		o := DefaultStreamOptions()
		o.Policy, o.Prices, o.Out = storage.File(c.policy), c.change, storage.File(filepath.Join(t.TempDir(), "out.csv"))
		_, err := Stream(t.Context(), rt, o, strings.NewReader("x,y,z\n1,2,3\n"), nil, stage.Quiet)
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if _, err := os.Stat(o.Out.String()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: an output file", want)
		}
	}
}

// TestLambdaWithoutEffectIsSaid: beside a lack of a check too, and not where advice has a fee, or lambda is 1.
func TestLambdaWithoutEffectIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		fee, lambda float64
		unchecked   []string
		want        string
	}{
		"free advice":           {0, 5, nil, "lambda has no effect: it multiplies the fees of advice, and no advice has one"},
		"free and not checked":  {0, 9, []string{"lambda 9"}, "is not known; lambda has no effect"},
		"free, lambda 1":        {0, 1, nil, ""},
		"advice with a fee":     {0.1, 5, nil, ""},
		"with a fee, unchecked": {0.1, 9, []string{"lambda 9"}, "not checked on these prices: lambda 9"},
	} {
		a := &costs.Actions{Experts: []costs.Expert{{Name: "a"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "docs", Fee: c.fee}}}
		at := policy.PricesOf(a, c.lambda)
		at.Unchecked = c.unchecked
		used := NewUsedPrices(a, at, nil)
		got := used.Caution()
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") || (used.Idle != "") != strings.Contains(c.want, "no effect") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUsageLines: prices are said without the digits that come from a division.
func TestUsageLines(t *testing.T) {
	experts, perLoss := []costs.Expert{{Name: "a"}, {Name: "b"}}, 0.05
	lines := UsageLines(experts, UsageList{"a": {"tokens_in": 0.15 / perLoss, "tokens_out": 0.6 / perLoss, "calls": 0}})
	if want := []string{"a: 3 for a million tokens of prompts, 12 for a million tokens of answers"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
