package fromlog

import (
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

const (
	worldNames  = `["x","y"]`
	worldMoney  = `{"currency":"USD","per_loss":0.5}`
	worldPrices = `{"digest":"sha256:1","currency":"USD","models":{"large":[{"in":10,"out":20}],"tiny":[{"from":"2000-01-01","in":1,"out":2}]},"per_second":0.01}`
)

// call is a call of an expert in a log.
type call struct {
	pair   int
	model  string
	tokens bool    // 1000 and 100 are known
	money  float64 // below 0: not known
}

// callsIn writes a log with one decision for each call, by policies with what they have in common with their tensors.
func callsIn(t *testing.T, shared []map[string]string, calls []call) string {
	t.Helper()
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(3)
	for n, c := range calls {
		about := w.about
		about.Meta = shared[n%len(shared)]
		about.Digest += string(rune('a' + n%len(shared)))
		r, o := w.step(n)
		r.Digest, r.Time, r.Available[2] = about.Digest, 1.8e15+int64(n), true
		r.Action, r.Executed, r.Propensity, r.Model = c.pair, c.pair, []float64{0.25, 0.25, 0.25, 0.25}, c.model
		r.Usage = decisionlog.Usage{In: 1000, Out: 100, Known: c.tokens, CachedKnown: c.tokens && c.pair == 1}
		r.Fee, r.FeeKnown = max(0, c.money), c.money >= 0
		// A call failed after 3 seconds, then one answered within 2.
		r.Stages.Expert = 5e6
		r.Attempts = []decisionlog.Attempt{{Action: 3, Micros: 3e6, Error: "busy"}, {Action: c.pair, Status: 200, Micros: 1e6}}
		loss := 0.25
		o.Correct, o.Loss = nil, &loss
		if err := to.Policy(about); err != nil {
			t.Fatal(err)
		}
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// measured is what a policy has in common with a tensor with measured fees.
func measured(prices string) map[string]string {
	return map[string]string{costs.NamesKey: worldNames, costs.MoneyKey: worldMoney, costs.MeterKey: prices}
}

// Tokens of special kinds have their own prices in a record, too; without one, the money is not known.
func TestMeteredParts(t *testing.T) {
	m, err := newMeter(`{"currency":"USD","models":{"tiny":[{"in":1,"out":2,"cache_write":1.25}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	d := decisionlog.Decision{Record: &decisionlog.Record{Model: "tiny", Usage: decisionlog.Usage{In: 1000, Out: 100, Known: true}, TokenParts: []float64{400, 0, 0, 0, 60, 0}}}
	if money, ok := m.tokens(d); !ok || math.Abs(money-(600+400*1.25+200)/1e6) > 1e-15 {
		t.Error(money, ok)
	}
	d.TokenParts = []float64{0, 400, 0, 0, 0, 0}
	if _, ok := m.tokens(d); ok {
		t.Error("tokens without a price have one")
	}
}

// A fee is that of the tokens at the prices of the tensor that the policy learned from, and else the money in the log; the
// time of the call that answered is added. What is not known is unknown.
func TestMeasuredFees(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		prices string
		call   call
		want   float64 // fee, NaN if it is not known
		same   bool    // the tensor has the prices
	}{
		"tokens":                       {worldPrices, call{0, "tiny", true, -1}, (0.0012 + 0.02) / 0.5, true},
		"tokens of a priced expert":    {worldPrices, call{2, "large-2026", true, 7}, (0.012 + 0.02) / 0.5, true},
		"another model":                {worldPrices, call{2, "large-2026", true, -1}, nan, true},
		"money alone":                  {worldPrices, call{0, "", false, 0.1}, (0.1 + 0.02) / 0.5, false},
		"money of a model without one": {worldPrices, call{0, "other", true, 0.1}, (0.1 + 0.02) / 0.5, false},
		"nothing":                      {worldPrices, call{0, "tiny", false, -1}, nan, true},
		"no prices":                    {"{}", call{0, "tiny", true, 0.1}, 0.1 / 0.5, false},
		"no prices and no money":       {"{}", call{0, "tiny", true, -1}, nan, false},
		"a free call":                  {"{}", call{0, "tiny", true, 0}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := call{1, "tiny", true, 0.25}
			o := DefaultOptions()
			o.Log, o.Partial = storage.File(callsIn(t, []map[string]string{measured(c.prices)}, []call{c.call, other})), storage.File(filepath.Join(t.TempDir(), "p.parquet"))
			r, err := Import(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
			if err != nil {
				t.Fatal(err)
			}
			if got.Meta[costs.NamesKey] != worldNames || got.Meta[costs.MoneyKey] != worldMoney || (got.Meta[costs.PricesKey] == worldPrices) != c.same {
				t.Errorf("metadata %v", got.Meta)
			}
			if c.want != c.want {
				if r.NoFee != 1 || got.Len() != 1 || got.Losses(0)[1] != 0.25 {
					t.Errorf("%d rows, %d without fee", got.Len(), r.NoFee)
				}
				return
			}
			if fee := float64(got.Fee[c.call.pair]); r.NoFee != 0 || got.Len() != 2 || math.Abs(fee-c.want) > 1e-6 || got.Losses(0)[c.call.pair] != 0.25 || got.Fee[3] == got.Fee[3] {
				t.Errorf("fees %v, want %v; %d without", got.Fee, c.want, r.NoFee)
			}
			for q, want := range []float64{1000, 0, 100, 1, 2} {
				v := float64(got.Usage[q][c.call.pair])
				if known := c.call.tokens && q != int(costs.TokensCached) || q >= int(costs.Calls); known != (v == v) || known && v != want || got.Usage[q][3] == got.Usage[q][3] {
					t.Errorf("%s %v, want %v", costs.Quantity(q), got.Usage[q], want)
				}
			}
		})
	}
}

// Where no fee is known, or not what a loss is worth, or versions differ, the error says what to do.
func TestFeesThatAreNotKnown(t *testing.T) {
	unpaid, paid := call{0, "", false, -1}, call{0, "", false, 0.1}
	without := measured("{}")
	delete(without, costs.MoneyKey)
	other := maps.Clone(measured("{}"))
	other[costs.NamesKey] = `["x","z"]`
	file := filepath.Join(t.TempDir(), "p.parquet")
	for name, c := range map[string]struct {
		shared []map[string]string
		call   call
		want   string         // part of the error
		remedy func(*Options) // nil: none is tried
		fees   bool           // with the remedy
	}{
		"no fee":        {[]map[string]string{measured("{}")}, unpaid, "is known of none of the 2 decisions", func(o *Options) { o.NoFees = true }, false},
		"no money":      {[]map[string]string{without}, paid, "what a loss of 1 is worth", func(o *Options) { o.Money = "USD=0.5" }, true},
		"other names":   {[]map[string]string{measured("{}"), other}, paid, "trained with other pipe.feature_names", func(o *Options) { o.Policy = "greedy@sha256:planteda" }, true},
		"other prices":  {[]map[string]string{measured("{}"), measured(worldPrices)}, paid, "trained with other pipe.measured_fees", nil, false},
		"damaged":       {[]map[string]string{measured("{")}, paid, "is not what a tensor has as its prices", nil, false},
		"earlier log":   {[]map[string]string{nil}, paid, "", func(o *Options) { o.Money = "USD=0.5" }, true},
		"joins earlier": {[]map[string]string{nil, {costs.NamesKey: worldNames}}, paid, "", nil, false},
		"other money":   {[]map[string]string{measured("{}")}, paid, "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Log, o.Partial = storage.File(callsIn(t, c.shared, []call{c.call, c.call})), storage.File(file)
			r, err := Import(t.Context(), o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if c.remedy != nil {
				c.remedy(&o)
				r, err = Import(t.Context(), o)
			}
			if c.want != "" && c.remedy == nil {
				return
			}
			if err != nil || r.Measured != c.fees {
				t.Errorf("measured: %v; %v", r, err)
			}
		})
	}
}
