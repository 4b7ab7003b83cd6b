package prices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// AtFile is AtPrices with the prices of a file.
func AtFile(ctx context.Context, t *costs.Tensor, path storage.Location) (*costs.Tensor, error) {
	list, err := Read(ctx, path)
	if err != nil {
		return nil, err
	}
	t, err = AtPrices(t, list)
	return t, dataerror.InFile(path.String(), err)
}

// Note says in a report what AtFile did.
func Note(path storage.Location) string {
	return fmt.Sprintf("Measured fees are those of the usage that the tensor has, at the last prices in %s.", path.Base())
}

// AtPrices returns a tensor whose measured fees are those of its usage at the prices of another file, with what is recorded of
// them. What its fees have beside the usage at the prices that it records, such as the money of other models, stays. Of every model
// the last period counts. A fee that cannot be known is an error: of a pair with a quantity that has a price and is not known where
// the outcome is, or of an expert without a price, unless nothing is known to be used or paid for it. Everything but fees and
// metadata is shared.
func AtPrices(t *costs.Tensor, list *Table) (*costs.Tensor, error) {
	money, ok, err := costs.MoneyOf(t.Meta)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &costs.DataError{Msg: "the tensor does not say what a loss of 1 is worth in money, so prices are no fees; pipe import records it with fees.fee_scale, pipe costs with the currency of a price"}
	}
	if !t.Usage.Known() {
		return nil, &costs.DataError{Column: costs.TokensIn.String(), Msg: "is missing, as is all usage: fees at other prices need what the calls used, which pipe import and pipe costs keep"}
	}
	before, err := ParseRecorded(t.Meta[costs.PricesKey])
	if err != nil {
		return nil, &costs.DataError{Column: costs.PricesKey, Err: err}
	}
	now, err := before.With(list)
	if err == nil && money.Currency != list.Currency {
		err = fmt.Errorf("the prices are in %s, but measured fees are in %s", list.Currency, money.Currency)
	}
	if err != nil {
		return nil, &costs.DataError{Err: err}
	}
	r := repricing{t: t, before: before, now: now, perLoss: money.PerLoss, fee: slices.Clone(t.Fee)}
	if r.fee == nil {
		r.fee = make([]float32, len(t.Loss))
		mask := t.Actions.Mask()
		for i, l := range t.Loss {
			if l != l && mask[i%len(mask)] {
				r.fee[i] = l
			}
		}
	}
	for i := range t.Actions.Len() {
		if err := r.pair(i); err != nil {
			return nil, err
		}
	}
	out := *t
	out.Fee = r.fee
	out.Meta, err = now.meta(t)
	return &out, err
}

// meta is the metadata of a tensor at the prices of r, of which it keeps those that its experts have.
func (r *Recorded) meta(t *costs.Tensor) (map[string]string, error) {
	used, meta := *r, maps.Clone(t.Meta)
	used.Name(t.Actions, r.Table, r.Model)
	var err error
	meta[costs.PricesKey], err = used.Text()
	return meta, err
}

// repricing computes fees at other prices.
type repricing struct {
	t           *costs.Tensor
	before, now *Recorded
	perLoss     float64
	fee         []float32 // N x A
}

// pair computes the fees of a pair.
func (r *repricing) pair(i int) error {
	j, _ := r.t.Actions.Pair(i)
	expert := r.t.Actions.Experts[j].Name
	price, ok := r.now.Last(expert)
	if !ok && !r.free(i) {
		return &costs.DataError{Column: "prices", Msg: fmt.Sprintf("the expert %q has none: the file has no model %q", expert, r.now.Model(expert))}
	}
	if ok && price.ReasoningApart() && !r.free(i) {
		return &costs.DataError{Column: "prices", Msg: fmt.Sprintf("the model %q of expert %q has a price %q, but it is not known how many tokens of the answers are of reasoning", r.now.Model(expert), expert, "reasoning")}
	}
	old, settled := r.priceBefore(expert)
	for n := range r.t.Len() {
		at := n*r.t.Actions.Len() + i
		if l := r.t.Loss[at]; l != l || !ok {
			continue
		}
		rest := 0.0
		if settled {
			var err error
			if rest, err = r.rest(at, old); err != nil {
				return r.fault(n, i, err)
			}
		}
		fee, err := r.cost(at, price, r.now.PerSecond)
		if err != nil {
			return r.fault(n, i, err)
		}
		r.fee[at] = float32(rest + fee)
	}
	return nil
}

// priceBefore returns the prices that an expert's fees have by what the tensor records. ok is false if it does not say them for every
// row: the fees are then taken for those of the usage.
func (r *repricing) priceBefore(expert string) (price Period, ok bool) {
	switch b := r.before; {
	case r.t.Fee == nil:
		return price, false
	case b.Table == nil:
		// Where tokens are known, the fee has their money too, whose prices are not recorded.
		return price, b.PerSecond > 0 && r.t.Usage[costs.TokensIn] == nil && r.t.Usage[costs.TokensOut] == nil
	case b.Dated(b.Model(expert)):
		return price, false
	default:
		return b.Last(expert)
	}
}

// free reports whether nothing is known that an action used, and nothing that was paid for it.
func (r *repricing) free(action int) bool {
	a := r.t.Actions.Len()
	for at := action; at < len(r.t.Loss); at += a {
		if r.t.Fee != nil && r.t.Fee[at] > 0 {
			return false
		}
		for _, values := range r.t.Usage {
			if values != nil && values[at] == values[at] {
				return false
			}
		}
	}
	return true
}

// rest is what a fee has beside that of the usage at the prices before, up to the precision of fees. It is taken for nothing where the
// usage is not known.
func (r *repricing) rest(at int, price Period) (float64, error) {
	const precision, least = 1e-6, 1e-30 // of float32
	of, err := r.cost(at, price, r.before.PerSecond)
	fee := float64(r.t.Fee[at])
	switch rest := fee - of; {
	case err != nil || math.Abs(rest) <= precision*max(fee, of)+least:
		return 0, nil
	case rest < 0:
		return 0, &costs.DataError{Column: "fee", Msg: fmt.Sprintf("is %g, less than the %g of the usage at the prices that the tensor records", fee, of)}
	default:
		return rest, nil
	}
}

// cost is the fee of the usage of a cell.
func (r *repricing) cost(at int, price Period, perSecond float64) (float64, error) {
	known := func(q costs.Quantity, matters bool) (float64, error) {
		if values := r.t.Usage[q]; values != nil && values[at] == values[at] {
			return float64(values[at]), nil
		}
		if matters && q == costs.TokensCached {
			return 0, &costs.DataError{Column: q.String(), Msg: "is not known, but these tokens have another price than others of the prompt; with the same price they need not be known"}
		}
		if matters {
			return 0, &costs.DataError{Column: q.String(), Msg: "is not known, but has a price"}
		}
		return 0, nil
	}
	has := func(p *float64) bool { return p != nil && *p > 0 }
	var u Usage
	var calls, seconds float64
	for _, part := range []struct {
		q       costs.Quantity
		to      *float64
		matters bool
	}{
		{costs.TokensIn, &u.In, has(price.In) || len(price.Above) > 0},
		{costs.TokensCached, &u.Cached, r.t.Usage[costs.TokensCached] != nil && price.discounts()}, // without the column none were
		{costs.TokensOut, &u.Out, has(price.Out)},
		{costs.Calls, &calls, has(price.Call)},
		{costs.Seconds, &seconds, perSecond > 0},
	} {
		var err error
		if *part.to, err = known(part.q, part.matters); err != nil {
			return 0, err
		}
	}
	if calls > 1 && len(price.Above) > 0 && u.In > price.Above[0].Tokens {
		return 0, &costs.DataError{Column: costs.TokensIn.String(), Msg: fmt.Sprintf("is %v in %v calls: which of them had a prompt above %v tokens, with other prices, is not known", u.In, calls, price.Above[0].Tokens)}
	}
	one := price
	one.Call = nil
	money, err := one.Cost(u)
	if usage, ok := errors.AsType[*UsageError](err); ok {
		err = &costs.DataError{Column: "tokens_" + usage.Key, Err: err}
	}
	if price.Call != nil {
		money += calls * *price.Call
	}
	fee := (money + seconds*perSecond) / r.perLoss
	if err == nil && !(fee <= math.MaxFloat32) {
		err = &costs.DataError{Column: "fee", Msg: fmt.Sprintf("is %v, which is too large", fee)}
	}
	return fee, err
}

// discounts reports whether cached tokens have another price than others of a prompt.
func (p Period) discounts() bool {
	other := func(in, cached *float64) bool { return in != nil && cached != nil && *in != *cached }
	return other(p.In, p.Cached) || slices.ContainsFunc(p.Above, func(t Tier) bool { return other(t.In, t.Cached) })
}

// fault adds the row and the pair to an error.
func (r *repricing) fault(n, action int, err error) error {
	if data, ok := errors.AsType[*costs.DataError](err); ok {
		data.Row, data.Msg = n+1, strings.TrimSpace(fmt.Sprintf("of %s %s", r.t.Actions.Name(action), data.Msg))
	}
	return err
}
