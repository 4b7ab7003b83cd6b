package wishes

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzWishes: headers are read, or are an error that names one of them.
func FuzzWishes(f *testing.F) {
	f.Add("0.5", "expert=small:0.5", "expert=a,pair=a/b", "false")
	f.Add("1e999", "advice=:,", "=", "")
	f.Fuzz(func(t *testing.T, lambda, fees, without, explore string) {
		w, err := Read(nil, http.Header{HeaderLambda: {lambda}, HeaderFees: {fees}, HeaderWithout: {without, without}, HeaderExplore: {explore}})
		if err != nil {
			own, ok := err.(*Error)
			if !ok || !strings.HasPrefix(own.Param, "x-pipe-") {
				t.Fatal(err)
			}
			return
		}
		if len(w.from) != 4 || w.Prices.Lambda == nil {
			t.Fatalf("%+v", w)
		}
	})
}
