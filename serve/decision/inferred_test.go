package decision

import (
	"testing"

	"pipe/models/policy"
)

// A shadow of decisions on tensors decides at the prices of the tensors, fees of pairs among them. One whose prices are
// fixed decides nothing, since it could only be compared at other prices.
func TestShadowAtTensorPrices(t *testing.T) {
	s := DefaultSettings()
	s.Shadow = []Shadow{{Policy: "fixed"}, {Policy: "twin"}}
	const rows = 20
	w, x := newWorld(t, s, "twin"), numbers(13, rows)
	p, err := w.set.Acquire("any")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	shadow, err := w.set.Acquire("twin")
	if err != nil {
		t.Fatal(err)
	}
	defer shadow.Release()
	type wanted struct {
		ids   []string
		alone *policy.Decisions
	}
	var all []wanted
	for i := range p.Info().Actions.Len() { // a fee for all pairs but one
		at := p.Info().PriceAt(p.Info().Actions, 1, nil)
		at.Pairs = make([]float64, p.Info().Actions.Len())
		for k := range at.Pairs {
			if k != i {
				at.Pairs[k] = 4
			}
		}
		live, err := p.Decide(t.Context(), at, x, rows)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := shadow.Decide(t.Context(), at, x, rows)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := w.RecordInferred(Inferred{Policy: p, Decisions: live, Features: x, Prices: []*policy.Prices{at}})
		if err != nil || len(ids) != rows {
			t.Fatal(ids, err)
		}
		all = append(all, wanted{ids, alone})
	}
	logged := w.records(t)
	for _, c := range all {
		for n, id := range c.ids {
			got := logged[id]
			action := int(c.alone.Action[n])
			if len(got.Shadows) != 1 || got.Shadows[0].Policy != "twin" || got.Shadows[0].Action != action ||
				got.Shadows[0].ExpectedCost != float64(c.alone.Cost[n*c.alone.Actions+action]) {
				t.Fatalf("row %d: shadows %+v, want pair %d", n, got.Shadows, action)
			}
		}
	}
}
