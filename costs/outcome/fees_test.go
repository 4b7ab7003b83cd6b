package outcome

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

const pricesYAML = `currency: USD
models:
  tiny: [{in: 1, cached: 0.5, out: 2}]
  y: [{in: 10, out: 20, call: 0.001}]
`

const usageCSV = `id,who,wrong,in,kept,out,ms
a,x,0,1000,400,100,1500
a,y,1,2000,0,50,200
b,x,1,0,0,0,0
b,y,0,1000,0,500,1000
`

// usageImport is a configuration with fees from tokens and latency.
func usageImport(t testing.TB, outcomes, list string) Config {
	c := smallImport(t, outcomes, featureCSV)
	c.None = ""
	c.Outcomes.Columns = Columns{
		ID: "id", Expert: "who", Loss: "wrong",
		Usage: Usage{TokensIn: "in", TokensCached: "kept", TokensOut: "out", Latency: "ms"},
	}
	file := c.Outcomes.File.Dir().Join("prices.yaml")
	put(t, file.String(), list)
	c.Fees = FeeTable{Prices: file, Models: map[string]string{"x": "tiny"}, FeeScale: 20, Latency: LatencyPrice{Unit: "ms", PerSecond: 0.01}}
	return c
}

// usageFees are the fees of usageCSV, worked out by hand: 20 x (tokens x price / 1e6 + price of the call + seconds x 0.01).
var usageFees = []float32{
	20 * (600e-6 + 200e-6 + 200e-6 + 0.015), 20 * (0.02 + 0.001 + 0.001 + 0.002),
	0, 20 * (0.01 + 0.01 + 0.001 + 0.01),
}

var nearly = cmpopts.EquateApprox(1e-6, 0)

// A call with a long prompt has the prices above it, and others keep theirs.
func TestFeesOfLongPrompts(t *testing.T) {
	c := usageImport(t, usageCSV, strings.Replace(pricesYAML, "call: 0.001}", "call: 0.001, above: [{tokens: 1000, in: 30, out: 40}]}", 1))
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]float32{}, usageFees...)
	want[1] = 20 * (2000*30e-6 + 50*40e-6 + 0.001 + 0.002) // that of 2000 tokens
	if d := cmp.Diff(want, got.Fee, nearly); d != "" {
		t.Error(d)
	}
}

func TestFeesFromTokensAndLatency(t *testing.T) {
	c := usageImport(t, usageCSV, pricesYAML)
	got, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(usageFees, got.Fee, nearly); d != "" {
		t.Error(d)
	}
	money, ok, err := costs.MoneyOf(got.Meta)
	if err != nil || !ok || money != (costs.Money{Currency: "USD", PerLoss: 0.05}) {
		t.Errorf("%v %v %v", money, ok, err)
	}
	var kept prices.Recorded
	if err := json.Unmarshal([]byte(got.Meta[costs.PricesKey]), &kept); err != nil || kept.PerSecond != 0.01 || len(kept.Models) != 2 || kept.Experts["x"] != "tiny" || len(kept.Experts) != 1 {
		t.Errorf("%s: %v", got.Meta[costs.PricesKey], err)
	}
	f := report.MeasuredFees
	if f.Estimated || f.Prices != kept.Digest || f.Pairs[1].Pair != "y/none" || f.Pairs[1].Calls != 2 || math.Abs(f.Pairs[1].Money-0.0275) > 1e-8 {
		t.Errorf("%+v", f)
	}
}

// The wide form with characters gives the fees of the long form with tokens.
func TestFeesInWideForm(t *testing.T) {
	c := usageImport(t, "id,x,y,xi,yi,xo,yo,xl,yl\na,0,1,4000,8000,400,200,1.5,0.2\nb,1,0,0,4000,0,2000,0,1\n", pricesYAML)
	pair := func(name string) WideColumn {
		return WideColumn{Expert: name, Column: name, Usage: Usage{CharsIn: name + "i", CharsOut: name + "o", Latency: name + "l"}}
	}
	c.Outcomes.Columns = Columns{ID: "id"}
	c.Outcomes.Wide = WideForm{Value: "loss", Pairs: []WideColumn{pair("x"), pair("y")}}
	c.Fees.CharsPerToken, c.Fees.Latency.Unit = 4, "s"
	got, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]float32{}, usageFees...)
	want[0] += 20 * 200e-6 // no token was cached
	if d := cmp.Diff(want, got.Fee, nearly); d != "" {
		t.Error(d)
	}
	if !report.MeasuredFees.Estimated || !strings.Contains(got.Meta[costs.PricesKey], `"chars_per_token":4`) {
		t.Errorf("%+v %s", report.MeasuredFees, got.Meta[costs.PricesKey])
	}
	c.Outcomes.Wide.Pairs[1].Usage = Usage{}
	if _, _, err := Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), "pairs[1]: either all pairs have columns of the same usage") {
		t.Error(err)
	}
}

// The fees of a tensor at other prices are those of an import at these prices.
func TestFeesAtOtherPrices(t *testing.T) {
	other := strings.NewReplacer("in: 1,", "in: 0.5,", "cached: 0.5", "cached: 0.25", "out: 2}", "out: 1}", "in: 10, out: 20, call: 0.001", "in: 5, out: 10, call: 0.0005, above: [{tokens: 1500, in: 7, out: 9}]").Replace(pricesYAML)
	for name, change := range map[string]func(*Config){
		"all":          func(*Config) {},
		"none cached":  func(c *Config) { c.Outcomes.Columns.TokensCached = "" },
		"without time": func(c *Config) { c.Outcomes.Columns.Latency, c.Fees.Latency = "", LatencyPrice{} },
		"from letters": func(c *Config) {
			c.Outcomes.Columns.Usage, c.Fees.CharsPerToken = Usage{CharsIn: "in", CharsOut: "out", Latency: "ms"}, 3
		},
		"with unknowns": func(c *Config) { c.Missing = MissingKeep },
	} {
		var is [2]*costs.Tensor
		for i, list := range []string{pricesYAML, other} {
			c := usageImport(t, strings.Replace(usageCSV, "b,y,0,1000", map[bool]string{true: "b,y,", false: "b,y,0"}[name == "with unknowns"]+",1000", 1), list)
			change(&c)
			var err error
			if is[i], _, err = Import(context.Background(), c); err != nil {
				t.Fatal(name, err)
			}
		}
		for i := range is {
			to, err := prices.ParseRecorded(is[1-i].Meta[costs.PricesKey])
			if err != nil {
				t.Fatal(err)
			}
			got, err := prices.AtPrices(is[i], to.Table)
			if err != nil {
				t.Fatal(name, err)
			}
			if d := cmp.Diff(is[1-i].Fee, got.Fee, nearly, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if d := cmp.Diff(is[1-i].Meta, got.Meta); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

// The tensor has what the calls used, as far as columns are named and outcomes known, by way of partials too. Tokens that no column
// has are not there, rather than 0.
func TestUsage(t *testing.T) {
	unknown := float32(math.NaN())
	for name, c := range map[string]struct {
		change func(*Config)
		want   costs.Usage
	}{
		"all": {func(*Config) {}, costs.Usage{{1000, 2000, 0, unknown}, {400, 0, 0, unknown}, {100, 50, 0, unknown}, {1, 1, 1, unknown}, {1.5, 0.2, 0, unknown}}},
		"some": {func(c *Config) {
			c.Outcomes.Columns.TokensCached, c.Outcomes.Columns.Latency, c.Fees.Latency = "", "", LatencyPrice{}
		}, costs.Usage{{1000, 2000, 0, unknown}, nil, {100, 50, 0, unknown}, {1, 1, 1, unknown}, nil}},
		"estimated": {func(c *Config) {
			c.Outcomes.Columns.Usage, c.Fees.CharsPerToken, c.Fees.Latency = Usage{CharsIn: "in", CharsOut: "out"}, 8, LatencyPrice{}
		}, costs.Usage{{125, 250, 0, unknown}, nil, {12.5, 6.25, 0, unknown}, {1, 1, 1, unknown}, nil}},
		"time": {func(c *Config) {
			c.Outcomes.Columns.Usage = Usage{Latency: "ms"}
			c.Fees = FeeTable{FeeScale: 20, Currency: "USD", Latency: LatencyPrice{Unit: "ms"}}
		}, costs.Usage{nil, nil, nil, {1, 1, 1, unknown}, {1.5, 0.2, 0, unknown}}},
		"call alone": {func(c *Config) {
			c.Outcomes.Columns.Usage, c.Fees.Latency = Usage{}, LatencyPrice{}
			put(t, c.Fees.Prices.String(), "currency: USD\nmodels: {tiny: [{call: 0.5}], y: [{call: 0.001}]}\n")
		}, costs.Usage{costs.Calls: {1, 1, 1, unknown}}},
		"mean": {func(c *Config) { c.Fees.As = "mean" }, costs.Usage{}},
		"fees": {func(c *Config) { c.Outcomes.Columns.Usage, c.Outcomes.Columns.Fee, c.Fees = Usage{}, "ms", FeeTable{} }, costs.Usage{}},
	} {
		config := usageImport(t, strings.Replace(usageCSV, "b,y,0,1000", "b,y,,1000", 1), pricesYAML)
		config.Missing = MissingKeep
		c.change(&config)
		got, _, err := Import(context.Background(), config)
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(c.want, got.Usage, nearly, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		samePartials(t, config, 1)
	}
}

// Every price from which fees were computed is recorded: a change of any of them changes the digest.
func TestRecordedPrices(t *testing.T) {
	digests := map[string]string{}
	for name, change := range map[string]func(*Config){
		"all":           func(*Config) {},
		"of time":       func(c *Config) { c.Fees.Latency.PerSecond = 0.02 },
		"none for time": func(c *Config) { c.Fees.Latency = LatencyPrice{}; c.Outcomes.Columns.Latency = "" },
		"of tokens":     func(c *Config) { put(t, c.Fees.Prices.String(), strings.Replace(pricesYAML, "in: 1,", "in: 3,", 1)) },
		"of time alone": func(c *Config) {
			c.Fees.Prices, c.Fees.Models, c.Fees.Currency = storage.Location{}, nil, "USD"
			c.Outcomes.Columns.Usage = Usage{Latency: "ms"}
		},
	} {
		c := usageImport(t, usageCSV, pricesYAML)
		change(&c)
		got, report, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(name, err)
		}
		d := report.MeasuredFees.Prices
		if other, ok := digests[d]; ok || d == "" || !strings.Contains(got.Meta[costs.PricesKey], d) {
			t.Errorf("%s: digest %q, also of %q; %s", name, d, other, got.Meta[costs.PricesKey])
		}
		digests[d] = name
	}
}

// The price is that of the row's time, also where an instance has several.
func TestFeesByDate(t *testing.T) {
	prices := strings.Replace(pricesYAML, "[{in: 1, cached: 0.5, out: 2}]", "[{in: 1, cached: 0.5, out: 2}, {from: 2026-02-01, in: 2, cached: 1, out: 4}]", 1)
	log := "id,who,wrong,in,kept,out,ms,at\na,x,0,1000,400,100,0,2026-01-31T23:59:59Z\na,y,1,2000,0,50,200,2026-03-01\nb,x,1,1000,400,100,0,2026-02-01\nb,y,0,0,0,0,0,2026-02-01\n"
	c := usageImport(t, log, prices)
	c.Outcomes.Columns.Time = "at"
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float32{20 * 1000e-6, 20 * 2000e-6}, []float32{got.Fee[0], got.Fee[2]}, nearly); d != "" || got.Times == nil {
		t.Error(d)
	}
	c = usageImport(t, log, strings.Replace(prices, "{in: 1,", "{from: 2026-01-31T23:59:59.5Z, in: 1,", 1))
	c.Outcomes.Columns.Time = "at"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 2, "at", "2026-01-31T23:59:59Z is before 2026-01-31T23:59:59.5Z")
	c = usageImport(t, strings.Replace(log, "2026-01-31T23:59:59Z", "May", 1), prices)
	c.Outcomes.Columns.Time = "at"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 2, "at", `"May" is not a time`)
}

// A column of money is scaled, and without a scale stays as it is.
func TestFeesInMoney(t *testing.T) {
	c := smallImport(t, longCSV, featureCSV)
	c.Fees.FeeScale, c.Fees.Currency = 4, "EUR"
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fee[0] != 2 || got.Fee[5] != 1 || got.Meta[costs.MoneyKey] != `{"currency":"EUR","per_loss":0.25}` {
		t.Errorf("%v %v", got.Fee, got.Meta)
	}
	c.Fees.FeeScale, c.Fees.Currency = 0, ""
	got, report, err := Import(context.Background(), c)
	if err != nil || got.Fee[0] != 0.5 || got.Meta[costs.MoneyKey] != "" || report.MeasuredFees.Currency != "" {
		t.Errorf("%v %v %v", got.Fee, got.Meta, err)
	}
}

// Means are those of the training rows, and are added to fixed fees.
func TestMeanFees(t *testing.T) {
	c := usageImport(t, usageCSV, pricesYAML)
	c.Fees.As, c.Fees.Experts = "mean", map[string]float64{"x": 1, "y": 2}
	got, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	fees := []float64{got.Actions.Experts[0].Fee - 1, got.Actions.Experts[1].Fee - 2}
	want := []float64{float64(usageFees[0]), float64(usageFees[1])} // row a is the only training row
	if d := cmp.Diff(want, fees, nearly); d != "" || got.Fee != nil || !report.MeasuredFees.Fixed {
		t.Error(d, got.Fee)
	}
	c = smallImport(t, longCSV, featureCSV)
	c.Fees.As = "mean"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", "there is advice")
}

// Every bad number of a log, and every price that does not fit it, is one error with its place.
func TestBadUsage(t *testing.T) {
	for _, c := range []struct {
		log, prices [2]string // what is replaced, and by what
		column, msg string
	}{
		{log: [2]string{"1000,400", ",400"}, column: "in", msg: "is missing"},
		{log: [2]string{"1000,400", "-1,400"}, column: "in", msg: "is -1; a count must not be negative"},
		{log: [2]string{"1000,400", "many,400"}, column: "in", msg: `"many" is not a number`},
		{log: [2]string{"1000,400", "10.5,4"}, column: "in", msg: "is 10.5, not a whole number"},
		{log: [2]string{"1000,400", "399,400"}, column: "kept", msg: "400 cached tokens are more than the 399 input tokens"},
		{log: [2]string{"100,1500", "100,-3"}, column: "ms", msg: "a latency must not be negative"},
		{log: [2]string{"a,x", "a,z"}, msg: `model "z" has no price; the price file has tiny, y`},
		{prices: [2]string{"cached: 0.5, ", ""}, column: "kept", msg: `400 tokens have no price: the price file has no "cached"`},
		{log: [2]string{"1000,400", "1000,0"}, prices: [2]string{"in: 1, cached: 0.5, ", ""}, column: "in", msg: `1000 tokens have no price: the price file has no "in"`},
		{prices: [2]string{"{in: 1,", "{from: 2026-01-01, in: 1,"}, msg: "depends on the date, but no column is named by outcomes.columns.time"},
	} {
		i := usageImport(t, strings.Replace(usageCSV, c.log[0], c.log[1], 1), strings.Replace(pricesYAML, c.prices[0], c.prices[1], 1))
		_, _, err := Import(context.Background(), i)
		dataerrortest.Check(t, err, i.Outcomes.File.String(), 2, c.column, c.msg)
	}
	i := usageImport(t, usageCSV, pricesYAML)
	i.Outcomes.Columns.TokensOut = ""
	_, _, err := Import(context.Background(), i)
	dataerrortest.Check(t, err, i.Outcomes.File.String(), 2, "", `model "tiny" has a price "out", but no column tokens_out or chars_out is named`)
	i = usageImport(t, usageCSV, strings.Replace(pricesYAML, "{in: 10, out: 20, call: 0.001}", "{in: 0, out: 20, above: [{tokens: 1500, in: 0, out: 40}]}", 1))
	i.Outcomes.Columns.TokensIn, i.Outcomes.Columns.TokensCached = "", ""
	i.Fees.Models["x"] = "y"
	_, _, err = Import(context.Background(), i)
	dataerrortest.Check(t, err, i.Outcomes.File.String(), 2, "", `model "y" has prices above a number of tokens of a prompt, but no column tokens_in or chars_in is named`)
	i = usageImport(t, usageCSV, pricesYAML)
	i.Fees.Models["z"] = "tiny"
	_, _, err = Import(context.Background(), i)
	dataerrortest.Check(t, err, i.Outcomes.File.String(), 0, "", `fees.models: unknown expert "z"; there are x, y`)
	i = usageImport(t, usageCSV, pricesYAML)
	i.Fees.Currency = "EUR"
	_, _, err = Import(context.Background(), i)
	dataerrortest.Check(t, err, i.Fees.Prices.String(), 0, "currency", `is "USD", but fees.currency is "EUR"`)
}

// Settings that contradict each other are named.
func TestFeeSettings(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"fees.prices and a column fee are both set":  func(c *Config) { c.Outcomes.Columns.Fee = "paid" },
		"but fees.prices is not":                     func(c *Config) { c.Fees.Prices = storage.Location{} },
		"fees.models needs fees.prices":              func(c *Config) { c.Fees.Prices = storage.Location{} },
		"tokens_in and chars_in are both set":        func(c *Config) { c.Outcomes.Columns.CharsIn = "n" },
		"tokens_out and chars_out are both set":      func(c *Config) { c.Outcomes.Columns.CharsOut = "n" },
		"chars_in and chars_out need fees.chars_per": func(c *Config) { c.Outcomes.Columns.CharsOut = "n" },
		"tokens_cached needs tokens_in":              func(c *Config) { c.Outcomes.Columns.TokensIn = "" },
		"fees.chars_per_token needs a column":        func(c *Config) { c.Fees.CharsPerToken = 4 },
		"fees.chars_per_token is -1":                 func(c *Config) { c.Fees.CharsPerToken = -1 },
		"fees.fee_scale is needed":                   func(c *Config) { c.Fees.FeeScale = 0 },
		"fees.fee_scale is -1":                       func(c *Config) { c.Fees.FeeScale = -1 },
		"fees.latency needs a column latency":        func(c *Config) { c.Outcomes.Columns.Latency = "" },
		`fees.latency.unit is ""`:                    func(c *Config) { c.Fees.Latency.Unit = "" },
		"fees.latency.per_second is -1":              func(c *Config) { c.Fees.Latency.PerSecond = -1 },
		`fees.as is "median"`:                        func(c *Config) { c.Fees.As = "median" },
		"fees.currency is needed":                    func(c *Config) { c.Fees.Prices = storage.Location{} },
		"fees.currency needs fees.fee_scale":         func(c *Config) { c.Fees.FeeScale, c.Fees.Currency = 0, "USD" },
		"fees.as needs measured fees": func(c *Config) {
			c.Fees = FeeTable{As: "mean"}
			c.Outcomes.Columns.Usage = Usage{}
		},
	} {
		c := usageImport(t, usageCSV, pricesYAML)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}
