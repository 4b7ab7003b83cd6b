package costs

import (
	"errors"
	"testing"
)

func TestParseMoney(t *testing.T) {
	if m, err := ParseMoney("USD=40.5"); err != nil || m != (Money{"USD", 40.5}) {
		t.Errorf("USD=40.5 is %+v, %v", m, err)
	}
	for _, text := range []string{"", "USD", "40", "=40", "USD=", "USD=x", "USD=0", "USD=-1", "USD=NaN", "USD=Inf", "USD=1e16"} {
		if m, err := ParseMoney(text); err == nil {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
}

// A loss has one value in the currency that its fees were computed from.
func TestMoneyFor(t *testing.T) {
	recorded := Money{Currency: "USD", PerLoss: 0.05}
	for _, c := range []struct {
		meta, option string
		want         Money // zero: an error
	}{
		{"", "USD=40", Money{Currency: "USD", PerLoss: 40}},
		{recorded.Text(), "", recorded},
		{recorded.Text(), "USD=0.05", recorded},
		{recorded.Text(), "EUR=0.04", Money{Currency: "EUR", PerLoss: 0.04}},
		{recorded.Text(), "USD=40", Money{}},
	} {
		meta := map[string]string{}
		if c.meta != "" {
			meta[MoneyKey] = c.meta
		}
		m, err := MoneyFor(meta, c.option)
		var data *DataError
		if c.want == (Money{}) && !errors.As(err, &data) || c.want != (Money{}) && (err != nil || *m != c.want) {
			t.Errorf("%q with %q: %v, %v", c.meta, c.option, m, err)
		}
	}
	if m, err := MoneyFor(nil, ""); m != nil || err != nil {
		t.Error(m, err)
	}
}
