package outcome

import (
	"math"
	"slices"
)

// Usage names the columns with what a call used, from which measured fees are
// computed. In wide form each pair names its columns.
type Usage struct {
	TokensIn     string `yaml:"tokens_in"`
	TokensCached string `yaml:"tokens_cached"` // part of TokensIn
	TokensOut    string `yaml:"tokens_out"`
	CharsIn      string `yaml:"chars_in"` // characters, where tokens were not counted
	CharsOut     string `yaml:"chars_out"`
	Latency      string `yaml:"latency"`
}

// tokens reports whether there are columns of tokens or characters.
func (u Usage) tokens() bool {
	return u.TokensIn+u.TokensCached+u.TokensOut+u.CharsIn+u.CharsOut != ""
}

// named has "set" for every column that is named.
func (u Usage) named() Usage {
	for _, c := range []*string{&u.TokensIn, &u.TokensCached, &u.TokensOut, &u.CharsIn, &u.CharsOut, &u.Latency} {
		if *c != "" {
			*c = "set"
		}
	}
	return u
}

// LatencyPrice says what time costs.
type LatencyPrice struct {
	Unit      string  `yaml:"unit"`       // of the column: s or ms
	PerSecond float64 `yaml:"per_second"` // money
}

// The ways to use measured fees.
const (
	feePerRow = "row"  // the fee of each outcome
	feeMean   = "mean" // one fixed fee per expert, the mean over the training rows
)

// mostScale is the largest factor between money and fees.
const mostScale = 1e12

// measures reports whether outcomes have measured fees.
func (c *Config) measures() bool {
	usage, fee := c.usage()
	return !c.Fees.Prices.IsZero() || fee || usage.tokens() || usage.Latency != ""
}

// usage returns the columns of usage, in wide form those of the first pair, and
// whether there is a column of fees.
func (c *Config) usage() (Usage, bool) {
	if w := c.Outcomes.Wide; len(w.Pairs) > 0 {
		return w.Pairs[0].Usage, w.Pairs[0].Fee != ""
	} else if c.Outcomes.isWide() {
		return w.Usage, w.Fee != ""
	}
	return c.Outcomes.Columns.Usage, c.Outcomes.Columns.Fee != ""
}

func (c *Config) checkFees(add func(bool, string, ...any)) {
	f := c.Fees
	u, hasFee := c.usage()
	add(!f.Prices.IsZero() && hasFee, "fees.prices and a column fee are both set; a measured fee comes from one of them")
	add(f.Prices.IsZero() && u.tokens(), "columns of tokens or characters are set, but fees.prices is not")
	add(f.Prices.IsZero() && len(f.Models) > 0, "fees.models needs fees.prices")
	add(u.TokensIn != "" && u.CharsIn != "", "tokens_in and chars_in are both set")
	add(u.TokensOut != "" && u.CharsOut != "", "tokens_out and chars_out are both set")
	add(u.TokensCached != "" && u.TokensIn == "", "tokens_cached needs tokens_in, which it is part of")
	chars := u.CharsIn+u.CharsOut != ""
	add(chars && f.CharsPerToken == 0, "chars_in and chars_out need fees.chars_per_token; about 4 is common for English texts")
	add(!chars && f.CharsPerToken != 0, "fees.chars_per_token needs a column chars_in or chars_out")
	add(f.CharsPerToken != 0 && !(f.CharsPerToken >= 0.1 && f.CharsPerToken <= 1000), "fees.chars_per_token is %v; it must be 0.1 to 1000", f.CharsPerToken)
	c.checkLatency(add, u.Latency != "")
	money := !f.Prices.IsZero() || u.Latency != ""
	add(money && f.FeeScale == 0, "fees.fee_scale is needed: measured fee = money x fee_scale; if a loss of 1 is worth 0.05, it is 20")
	add(f.FeeScale != 0 && !(f.FeeScale > 0 && f.FeeScale <= mostScale), "fees.fee_scale is %v; it must be positive, and at most %v", f.FeeScale, float64(mostScale))
	add(f.FeeScale != 0 && f.Prices.IsZero() && f.Currency == "", "fees.currency is needed with fees.fee_scale: the name of the money, such as USD")
	add(f.FeeScale == 0 && f.Currency != "", "fees.currency needs fees.fee_scale")
	add(!slices.Contains([]string{"", feePerRow, feeMean}, f.As), "fees.as is %q; it must be row or mean", f.As)
	add(f.As != "" && !c.measures(), "fees.as needs measured fees: a column fee or latency, or fees.prices")
}

func (c *Config) checkLatency(add func(bool, string, ...any), column bool) {
	l := c.Fees.Latency
	add(!column && l != LatencyPrice{}, "fees.latency needs a column latency")
	add(column && l.Unit != "s" && l.Unit != "ms", "fees.latency.unit is %q; it must be s or ms", l.Unit)
	add(column && !(l.PerSecond >= 0 && !math.IsInf(l.PerSecond, 0)), "fees.latency.per_second is %v; it must be 0 or more", l.PerSecond)
}
