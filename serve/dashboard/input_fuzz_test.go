package dashboard

import (
	"math"
	"net/url"
	"strings"
	"testing"

	"pipe/models/policy"
)

// What comes from a form is read or refused, whatever it is.
func FuzzForm(f *testing.F) {
	for _, s := range []string{"[[1, 2, 3]]", "1;2\t3", "[", "1e999 0 0", `{"a": null, "b": true, "c": "é", "d": 1e5}`, `{"a": {}}`, "lambda=2&e0=0.1&a1=3&policy=x@y&minutes=7", "minutes=-1", "%zz", "NaN Inf -0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := parseFeatures(text, 3); err == nil {
			for _, v := range x {
				if len(x) != 3 || math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Fatalf("%q is %v", text, x)
				}
			}
		}
		if row, err := parseRow(text); err == nil && !strings.Contains(text, "{") {
			t.Fatalf("%q is %v", text, row)
		}
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		if q := queryOf(values); q.minutes < 1 || q.minutes > 60 {
			t.Fatalf("%d minutes", q.minutes)
		}
		info := planted()
		r := policy.DefaultPriceRange()
		info.Prices = &r
		fields := priceFields(info)
		if c, err := priceChange(fields, values); err == nil {
			if _, err := info.Price(c); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if h := hostOf(text); strings.ContainsAny(h, "'\"`$\\;&| \n<>") {
			t.Fatalf("host %q", h)
		}
	})
}
