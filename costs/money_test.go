package costs

import (
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
