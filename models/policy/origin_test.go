package policy

import (
	"maps"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
)

// A policy has what tensors of its decisions need to join the one that it was trained on: measured fees only if there are any.
func TestSharedMetadata(t *testing.T) {
	names, money, prices := `["a","b"]`, `{"currency":"USD","per_loss":2}`, `{"per_second":0.5}`
	for name, c := range map[string]struct {
		meta map[string]string
		fee  bool
		want map[string]string
	}{
		"nothing":      {nil, false, map[string]string{}},
		"fixed fees":   {map[string]string{costs.NamesKey: names, costs.MoneyKey: money, "other": "x"}, false, map[string]string{costs.NamesKey: names, costs.MoneyKey: money}},
		"money":        {map[string]string{costs.MoneyKey: money}, true, map[string]string{costs.MoneyKey: money, costs.MeterKey: "{}"}},
		"prices":       {map[string]string{costs.PricesKey: prices}, true, map[string]string{costs.MeterKey: prices}},
		"fixed prices": {map[string]string{costs.PricesKey: prices}, false, map[string]string{}},
	} {
		tensor := coststest.Tensor(coststest.Actions([]float64{0, 1}, []float64{0}), []float32{0, 1})
		tensor.Meta = c.meta
		if c.fee {
			tensor.Fee = make([]float32, len(tensor.Loss))
		}
		info := &Info{Info: Origin(tensor)}
		if got := info.Shared(); !maps.Equal(got, c.want) || info.MeasuredFees() != c.fee {
			t.Errorf("%s: %v, want %v; measured fees: %t", name, got, c.want, info.MeasuredFees())
		}
	}
}
