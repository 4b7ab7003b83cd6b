package gateway

import (
	"strings"
	"testing"

	"pipe/serve/gateway/expert"
)

// Cached tokens without a price make the fee unknown, as in a price file. The key is charged as if none had been cached.
func TestCachedTokensWithoutAPrice(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		e := s.Experts["small"]
		e.Price = &expert.Price{In: e.Price.In, Out: e.Price.Out}
		s.Experts["small"] = e
	})
	out, spent := w.ask(t, question+`}`)
	if out.Code != 200 || spent.Tokens != 1100 || spent.Money != 0.002 {
		t.Errorf("%d, spent %+v", out.Code, spent)
	}
	if rec := w.records(t)[0]; rec.FeeKnown || rec.Fee != 0 || rec.Usage.Cached != 400 {
		t.Errorf("%+v", rec)
	}
}

// The check names an expert whose price does not have a part, and no other.
func TestNotesOfPrices(t *testing.T) {
	money := 1.0
	for want, price := range map[string]*expert.Price{
		`gateway: the expert "small" has no price, so the fees of its answers are not known`:                                   nil,
		`gateway: price of the expert "small" has no cached, so the fees of answers with such tokens are not known`:            {In: &money, Out: &money},
		`gateway: price of the expert "small" has no cached and no out, so the fees of answers with such tokens are not known`: {In: &money},
		"": {In: &money, Cached: &money, Out: &money},
	} {
		w := newWorld(t, func(s *Settings) {
			e := s.Experts["small"]
			e.Price = price
			s.Experts["small"] = e
		})
		var got []string
		for _, note := range w.api.Notes() {
			if strings.Contains(note, "price") {
				got = append(got, note)
			}
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
