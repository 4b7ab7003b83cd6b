package outcome

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// meter computes the measured fees of outcomes.
type meter struct {
	fees   *FeeTable
	time   string             // column of the times of the outcomes
	unit   tablefile.TimeUnit // of the times
	prices *prices.Table      // nil without a price file
	on     bool               // whether there are measured fees
}

// newMeter reads the price file.
func newMeter(ctx context.Context, c *Config) (*meter, error) {
	m := &meter{fees: &c.Fees, time: c.Outcomes.Columns.Time, unit: c.Time.Unit, on: c.measures()}
	if c.Fees.Prices.IsZero() {
		return m, nil
	}
	var err error
	if m.prices, err = prices.Read(ctx, c.Fees.Prices); err != nil {
		return nil, fmt.Errorf("fees.prices: %w", err)
	}
	if c.Fees.Currency != "" && c.Fees.Currency != m.prices.Currency {
		return nil, &costs.DataError{File: c.Fees.Prices.String(), Column: "currency", Msg: fmt.Sprintf("is %q, but fees.currency is %q", m.prices.Currency, c.Fees.Currency)}
	}
	return m, nil
}

// model is the name of an expert in the price file.
func (m *meter) model(expert string) string {
	if name, ok := m.fees.Models[expert]; ok {
		return name
	}
	return expert
}

// currency is that of measured fees, "" if they are in the unit of the losses.
func (m *meter) currency() string {
	if m.prices != nil {
		return m.prices.Currency
	}
	return m.fees.Currency
}

// scale is the measured fee per unit of money.
func (m *meter) scale() float64 {
	if m.fees.FeeScale == 0 {
		return 1
	}
	return m.fees.FeeScale
}

// measured is a number of a row that a fee is computed from.
type measured struct {
	name   string  // of its column
	at     int     // position of the column, -1 if there is none
	factor float64 // from the value of the column
}

// meterColumns are the columns of one pair.
type meterColumns struct {
	fee, in, cached, out, latency measured
	time                          measured // in microseconds
}

// columns says where a row has its usage.
func (m *meter) columns(set *columnSet, fee string, u Usage) meterColumns {
	column := func(name string, factor float64) measured { return measured{name, set.want(name), factor} }
	perToken := 1 / max(m.fees.CharsPerToken, math.SmallestNonzeroFloat64)
	c := meterColumns{fee: column(fee, 1), cached: column(u.TokensCached, 1), latency: column(u.Latency, 1), time: column(m.time, 1)}
	if c.in = column(u.TokensIn, 1); u.CharsIn != "" {
		c.in = column(u.CharsIn, perToken)
	}
	if c.out = column(u.TokensOut, 1); u.CharsOut != "" {
		c.out = column(u.CharsOut, perToken)
	}
	if m.fees.Latency.Unit == "ms" {
		c.latency.factor = 1e-3
	}
	return c
}

// errNoValue marks the error of an empty cell.
var errNoValue = errors.New("is missing")

// read returns a number that must not be negative, 0 if there is no column.
func (v measured) read(cells tablefile.Row, what string) (float64, error) {
	if v.at < 0 {
		return 0, nil
	}
	if cells.Missing(v.at) {
		return 0, &costs.DataError{Column: v.name, Err: errNoValue}
	}
	number, err := cells.Float(v.at)
	if err == nil && number < 0 {
		err = fmt.Errorf("is %v; %s must not be negative", number, what)
	}
	if err != nil {
		return 0, &costs.DataError{Column: v.name, Err: err}
	}
	return number * v.factor, nil
}

// count is read for whole numbers: tokens, or characters.
func (v measured) count(cells tablefile.Row) (float64, error) {
	n, err := measured{v.name, v.at, 1}.read(cells, "a count")
	if err == nil && n != math.Trunc(n) {
		err = &costs.DataError{Column: v.name, Msg: fmt.Sprintf("is %v, not a whole number", n)}
	}
	return n * v.factor, err
}

// call is what an outcome has as its measured fee, and what its call used.
type call struct {
	fee float64
	use [costs.Quantities]float64
}

// keeps are the quantities that the tensor has. A mean fee is a fixed fee of its
// expert: the tensor has no usage then, with which it would be counted twice.
func (m *meter) keeps(c *Config) (keep costs.UsageFlags) {
	u, _ := c.usage()
	if c.Fees.As == feeMean {
		return keep
	}
	keep[costs.TokensIn], keep[costs.TokensCached], keep[costs.TokensOut] = u.TokensIn+u.CharsIn != "", u.TokensCached != "", u.TokensOut+u.CharsOut != ""
	keep[costs.Seconds], keep[costs.Calls] = u.Latency != "", u != Usage{} || m.prices != nil
	return keep
}

// read returns the measured fee of an outcome and what its call used. An error
// is a *costs.DataError without a row.
func (m *meter) read(at *meterColumns, cells tablefile.Row, expert string) (c call, err error) {
	money, err := at.fee.read(cells, "a fee")
	if err != nil {
		return c, err
	}
	if m.prices != nil {
		var used prices.Usage
		if money, used, err = m.tokens(at, cells, m.model(expert)); err != nil {
			return c, err
		}
		c.use[costs.TokensIn], c.use[costs.TokensCached], c.use[costs.TokensOut] = used.In, used.Cached, used.Out
	}
	seconds, err := at.latency.read(cells, "a latency")
	if err != nil {
		return c, err
	}
	c.use[costs.Calls], c.use[costs.Seconds] = 1, seconds
	c.fee = (money + seconds*m.fees.Latency.PerSecond) * m.scale()
	if !(c.fee <= math.MaxFloat32) {
		return c, &costs.DataError{Msg: fmt.Sprintf("the fee is %v, which is too large", c.fee)}
	}
	return c, nil
}

// price is the price of a model when an outcome was recorded.
func (m *meter) price(at *meterColumns, cells tablefile.Row, model string) (prices.Period, error) {
	var micros int64
	if m.prices.Dated(model) {
		if at.time.at < 0 {
			return prices.Period{}, &costs.DataError{Msg: fmt.Sprintf("the price of model %s depends on the date, but no column is named by outcomes.columns.time", textfile.Quoted(model))}
		}
		cell := cells.Cell(at.time.at)
		var err error
		if micros, err = cell.Time(m.unit); err != nil {
			return prices.Period{}, &costs.DataError{Column: at.time.name, Err: err}
		}
	}
	p, err := m.prices.At(model, micros)
	if _, ok := errors.AsType[*prices.EarlyError](err); ok {
		return p, &costs.DataError{Column: at.time.name, Err: err}
	}
	if err != nil {
		err = &costs.DataError{Err: err}
	}
	return p, err
}

// tokens returns the tokens of an outcome and their money.
func (m *meter) tokens(at *meterColumns, cells tablefile.Row, model string) (money float64, used prices.Usage, err error) {
	price, err := m.price(at, cells, model)
	if err != nil {
		return 0, used, err
	}
	if at.in.at < 0 && len(price.Above) > 0 {
		return 0, used, &costs.DataError{Msg: fmt.Sprintf("model %s has prices above a number of tokens of a prompt, but no column tokens_in or chars_in is named; name it, or remove %q from the file",
			textfile.Quoted(model), "above")}
	}
	if price.ReasoningApart() {
		return 0, used, &costs.DataError{Msg: fmt.Sprintf("model %s has another price of reasoning than of other tokens of an answer, and no column can say how many there are; make them equal", textfile.Quoted(model))}
	}
	for _, part := range []struct {
		price  *float64
		column measured
		key    string
	}{{price.In, at.in, "in"}, {price.Out, at.out, "out"}} {
		if part.column.at < 0 && part.price != nil && *part.price > 0 {
			return 0, used, &costs.DataError{Msg: fmt.Sprintf("model %s has a price %q, but no column tokens_%s or chars_%s is named; name it, or remove the price from the file",
				textfile.Quoted(model), part.key, part.key, part.key)}
		}
	}
	if used, err = usageOf(at, cells); err != nil {
		return 0, used, err
	}
	money, err = price.Cost(used)
	if usage, ok := errors.AsType[*prices.UsageError](err); ok {
		column := map[string]measured{"in": at.in, "cached": at.cached, "out": at.out}[usage.Key]
		err = &costs.DataError{Column: column.name, Err: err}
	}
	return money, used, err
}

// usageOf reads the tokens of an outcome.
func usageOf(at *meterColumns, cells tablefile.Row) (u prices.Usage, err error) {
	if u.In, err = at.in.count(cells); err != nil {
		return u, err
	}
	if u.Cached, err = at.cached.count(cells); err != nil {
		return u, err
	}
	u.Out, err = at.out.count(cells)
	return u, err
}
