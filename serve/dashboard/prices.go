package dashboard

import (
	"fmt"
	"math"
	"net/url"
	"strconv"

	"pipe/models/policy"
)

// priceField is a number field of the form for prices: lambda, or the fee of an expert or an advice.
type priceField struct {
	Param       string // of the query: lambda, e0, e1, a1
	Label, Note string
	Value, Base float64 // the chosen value, and that of the file
	Max, Step   float64
	part        policy.Part // that the fee is for; zero for lambda
}

// Text is the value for an HTML number field.
func (f priceField) Text() string     { return number(f.Value) }
func (f priceField) BaseText() string { return number(f.Base) }
func (f priceField) MaxText() string  { return number(f.Max) }
func (f priceField) StepText() string { return number(f.Step) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// priceFields returns the fields for an any-price policy; nil for another policy.
func priceFields(info *policy.Info) []priceField {
	if info.Prices == nil {
		return nil
	}
	var fields []priceField
	add := func(param, label string, part policy.Part, base, most float64) {
		step := math.Pow(10, math.Floor(math.Log10(most))-2)
		fields = append(fields, priceField{
			Param: param, Label: label, Value: base, Base: base, Max: math.Ceil(most/step-1e-9) * step, Step: step, part: part,
			Note: fmt.Sprintf("%s in the file", strconv.FormatFloat(base, 'g', 6, 64)),
		})
	}
	largest := 0.0
	for _, e := range info.Actions.Experts {
		largest = max(largest, e.Fee)
	}
	for _, a := range info.Actions.Advice {
		largest = max(largest, a.Fee)
	}
	if largest == 0 {
		largest = 0.1
	}
	most := func(fee float64) float64 {
		if fee == 0 {
			return largest
		}
		return fee * max(info.Prices.Fee[1], 1)
	}
	if len(info.Actions.Advice) > 1 {
		add("lambda", "lambda, the factor on the fees of advice", policy.Part{}, info.Lambda, max(info.Prices.Lambda[1], info.Lambda, 1e-3))
	}
	for j, e := range info.Actions.Experts {
		add("e"+strconv.Itoa(j), "fee of the expert "+e.Name, policy.Expert(e.Name), e.Fee, most(e.Fee))
	}
	for k, a := range info.Actions.Advice {
		if k > 0 {
			add("a"+strconv.Itoa(k), "fee of the advice "+a.Name, policy.Advice(a.Name), a.Fee, most(a.Fee))
		}
	}
	return fields
}

// priceChange sets the values of the fields from a query, and returns the differences from the file. Fields that are missing
// or empty in the query keep the values of the file.
func priceChange(fields []priceField, q url.Values) (policy.PriceChange, error) {
	var c policy.PriceChange
	for i := range fields {
		f := &fields[i]
		text := q.Get(f.Param)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= policy.MaxFee) {
			return policy.PriceChange{}, fmt.Errorf("%s: %q is not a number from 0 to %g", f.Label, excerpt(text), policy.MaxFee)
		}
		f.Value = v
		switch {
		case v == f.Base:
		case f.part == policy.Part{}:
			c.Lambda = &v
		default:
			c.Fees = append(c.Fees, policy.Fee{Of: f.part, Amount: v})
		}
	}
	return c, nil
}
