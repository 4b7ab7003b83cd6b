package cascade

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// A file with fixed prices leaves out pairs that are not available, of each row its own, and decides as before on other rows.
func TestFixedPricesTakeMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	p := planted(rng, 3, 4, 8)
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 1500)
	want, err := d.Next(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]*policy.Prices, r.N)
	for n := range at {
		if at[n] = d.Info().Base(); n%2 == 1 {
			at[n].Available[n/2%6] = false
		}
	}
	got, err := d.NextAt(t.Context(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for n, action := range got.Action {
		executed := r.Executed[n*6 : n*6+6]
		can := func(i int) bool { return at[n].Available[i] || executed[i] }
		pair, free := want.Possible(n, 6, can)
		if int(action) != pair || got.Accept[n] != executed[pair] || got.Remaining[n] != want.Cost[n*6+pair] {
			t.Fatalf("row %d: %d, want %d", n, action, pair)
		}
		for i := range 6 {
			if c := got.Cost[n*6+i]; can(i) && c != want.Cost[n*6+i] || !can(i) && c != none {
				t.Errorf("row %d: pair %d costs %g", n, i, c)
			}
		}
		if !free {
			changed++
		}
	}
	if changed < 50 {
		t.Errorf("%d changed decisions", changed)
	}
}

func TestNextAtRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	p := planted(rng, 3, 4, 8)
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 4)
	clear(r.Executed[6:])
	r.Executed[0] = true
	own := d.Info().Base()
	other, nothing, usage := d.Info().Base(), d.Info().Base(), d.Info().Base()
	other.Experts[1]++
	clear(nothing.Available)
	usage.Usage[0] = make([]float64, 3)
	for want, at := range map[string][]*policy.Prices{
		"fixed prices":                            {other},
		"row 3: the policy has fixed prices":      {own, own, own, other},
		"row 1: no pair may be executed":          {nothing},
		"prices of 3 rows for 4 rows":             {own, own, own},
		"row 2: the policy knows nothing of what": {own, own, usage, own},
	} {
		_, err := d.NextAt(t.Context(), at, r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if strings.Contains(want, "fixed prices") != errors.Is(err, policy.ErrFixedPrices) {
			t.Error(err)
		}
	}
	if _, err := d.NextAt(t.Context(), []*policy.Prices{nothing}, r.slice(0, 1, d.Info())); err != nil {
		t.Error(err) // its answer is accepted
	}
}
