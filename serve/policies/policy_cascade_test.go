package policies

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/serve/policies/policiestest"
)

// writeCascade writes a cascade into a folder.
func writeCascade(t testing.TB, folder, name string, seed uint64) string {
	t.Helper()
	path := filepath.Join(folder, name+".onnx")
	policiestest.WriteCascade(t, path, dim, seed)
	return path
}

// The first decisions of a cascade are those of its file in the empty state, for requests alone and together, at their fees, and among
// the pairs that may be chosen.
func TestFirstDecisionsOfACascade(t *testing.T) {
	folder := t.TempDir()
	writeCascade(t, folder, "stages", 1)
	write(t, folder, "plain", version("plain"))
	set := open(t, settings(folder))
	p := acquire(t, set, "stages")
	info := p.Cascade()
	if info == nil || p.Info().Method != MethodCascade || p.Info().Decoder != policy.DecoderEstimate || p.Info().Prices != nil || acquire(t, set, "plain").Cascade() != nil {
		t.Fatalf("%+v", p.Info())
	}
	const n = 50
	x, pairs := numbers(1, n), info.Actions.Len()
	rows := cascade.Rows{N: n, Features: x, Executed: make([]bool, n*pairs), Observed: slices.Repeat([]float32{float32(math.NaN())}, n*info.Columns())}
	want, err := p.Next(t.Context(), nil, rows)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			d, err := p.Decide(context.Background(), nil, x[i*dim:(i+1)*dim], 1)
			if err != nil {
				t.Error(err)
				return
			}
			if d.Action[0] != want.Action[i] || !slices.Equal(d.Cost, want.Cost[i*pairs:(i+1)*pairs]) || d.Expert[0]*2+d.Advice[0] != d.Action[0] {
				t.Errorf("row %d: %d at %v, want %d at %v", i, d.Action[0], d.Cost, want.Action[i], want.Cost[i*pairs:(i+1)*pairs])
			}
			for k, fee := range info.Actions.Fees(1) {
				if info.Actions.Available(k) != (d.Scores[k] > policy.ExcludedBelow) || info.Actions.Available(k) && math.Abs(float64(d.Loss[k])+fee-float64(d.Cost[k])) > 1e-5 {
					t.Errorf("pair %d: loss %v, cost %v, score %v", k, d.Loss[k], d.Cost[k], d.Scores[k])
				}
				if k != int(d.Action[0]) && d.Scores[k] >= d.Scores[d.Action[0]] {
					t.Errorf("pair %d scores more than the action", k)
				}
			}
		})
	}
	all.Wait()
	without, err := p.Info().Price(policy.PriceChange{Without: []policy.Part{policy.Expert("e0")}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Decide(t.Context(), without, x, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, action := range d.Action {
		if least := slices.Min(want.Cost[i*pairs+2 : (i+1)*pairs]); action < 2 || want.Action[i] < 2 && want.Cost[i*pairs+int(action)] != least {
			t.Errorf("row %d: %d without e0, costs %v", i, action, want.Cost[i*pairs:(i+1)*pairs])
		}
	}
	if _, err := p.Decide(t.Context(), nil, slices.Repeat([]float32{float32(math.NaN())}, dim), 1); !errors.As(err, new(*policy.RowError)) {
		t.Errorf("a feature that is not finite: %v", err)
	}
}

// The first decisions of an any-price cascade are those of its file at the prices of each request, also where requests at different prices
// are decided together. Masks are masked before it decides.
func TestFirstDecisionsAtPrices(t *testing.T) {
	folder := t.TempDir()
	policiestest.WritePricedCascade(t, filepath.Join(folder, "stages.onnx"), dim, 1)
	p := acquire(t, open(t, settings(folder)), "stages")
	info := p.Cascade()
	if info.Prices == nil || p.Info().Prices == nil || *p.Info().Prices != *info.Prices {
		t.Fatalf("%+v", p.Info())
	}
	const n = 60
	x, pairs, r := numbers(1, n), info.Actions.Len(), rand.New(rand.NewPCG(1, 1))
	changed := 0
	var all sync.WaitGroup
	for i := range n {
		c := policy.PriceChange{
			Lambda: new(3 * r.Float64()), Fees: []policy.Fee{{Of: policy.Expert("e1"), Amount: 2 * r.Float64()}, {Of: policy.Pair("e0/docs"), Amount: r.Float64()}},
			Surcharge: []float64{r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), 0},
		}
		if i%3 == 0 {
			c.Without = []policy.Part{policy.Expert("e2"), policy.Pair("e0/none")}
		}
		at, err := p.Price(p.Pricing(), c)
		if err != nil {
			t.Fatal(err)
		}
		row := p.firstRows(x[i*dim:(i+1)*dim], 1)
		want, err := p.Next(t.Context(), []*policy.Prices{at}, row)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := p.Next(t.Context(), nil, row)
		if err != nil {
			t.Fatal(err)
		}
		if plain.Action[0] != want.Action[0] {
			changed++
		}
		all.Go(func() {
			d, err := p.Decide(context.Background(), at, row.Features, 1)
			if err != nil {
				t.Error(err)
				return
			}
			if d.Action[0] != want.Action[0] || !slices.Equal(d.Cost, want.Cost) || !at.Available[d.Action[0]] {
				t.Errorf("row %d: %d at %v, want %d at %v", i, d.Action[0], d.Cost, want.Action[0], want.Cost)
			}
			for k := range pairs {
				if at.Available[k] != (d.Scores[k] > policy.ExcludedBelow) || at.Available[k] && math.Abs(float64(d.Loss[k])+at.Fee(k)-float64(d.Cost[k])) > 1e-5 {
					t.Errorf("row %d, pair %d: loss %v, cost %v, score %v", i, k, d.Loss[k], d.Cost[k], d.Scores[k])
				}
			}
		})
	}
	all.Wait()
	if changed < n/10 {
		t.Errorf("prices change %d decisions of %d", changed, n)
	}
}

// The executions that a cascade expects are those of its file, whatever the prices and the scale of the losses.
func TestExecutions(t *testing.T) {
	folder := t.TempDir()
	later := policiestest.WritePricedCascade(t, filepath.Join(folder, "stages.onnx"), dim, 3)
	p := acquire(t, open(t, settings(folder)), "stages")
	x := numbers(1, 10)
	for i := range 10 {
		at, err := p.Price(p.Pricing(), policy.PriceChange{Lambda: new(float64(i)), Without: []policy.Part{policy.Pair("e1/docs")}})
		if err != nil {
			t.Fatal(err)
		}
		row := x[i*dim : (i+1)*dim]
		d, err := p.Decide(t.Context(), at, row, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Executions(t.Context(), at, row, d.Cost)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range got {
			want := later[k]
			switch first, then := k/6, k%6; {
			case !at.Available[first] || !at.Available[then]: // a pair that is left out is executed never
				want = 0
			case first == then:
				want = 1
			}
			if math.Abs(v-want) > 1e-3 {
				t.Errorf("row %d: %v of %d after %d, want %v", i, v, k%6, k/6, want)
			}
		}
	}
}

// A cascade is replaced like a policy, and one whose graph does not fit its metadata is refused.
func TestReloadOfACascade(t *testing.T) {
	folder := t.TempDir()
	path := writeCascade(t, folder, "stages", 1)
	set := open(t, settings(folder))
	before := acquire(t, set, "stages").Digest
	writeCascade(t, folder, "stages", 2)
	set.Reload(t.Context())
	after := acquire(t, set, "stages")
	if after.Digest == before || after.Cascade() == nil {
		t.Errorf("%s stays", before)
	}
	m, _, err := cascade.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	meta := m.Metadata()
	meta["pipe.dim"] = "7"
	m.SetMetadata(meta)
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	changes := set.Reload(t.Context())
	if len(changes) != 1 || changes[0].Err == nil || !strings.Contains(changes[0].Err.Error(), "read cascade") || !errors.As(changes[0].Err, new(*costs.DataError)) {
		t.Errorf("%+v", changes)
	}
	if acquire(t, set, "stages").Digest != after.Digest {
		t.Error("a damaged file took the place")
	}
}

func BenchmarkCascadeStage(b *testing.B) {
	folder := b.TempDir()
	writeCascade(b, folder, "stages", 1)
	policiestest.WritePricedCascade(b, filepath.Join(folder, "priced.onnx"), dim, 1)
	set := open(b, settings(folder))
	p, priced := acquire(b, set, "stages"), acquire(b, set, "priced")
	rows := cascade.Rows{N: 1, Features: numbers(1, 1), Executed: make([]bool, 6), Observed: make([]float32, 12)}
	rows.Executed[0] = true
	at, err := priced.Price(priced.Pricing(), policy.PriceChange{Lambda: new(2.)})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("next at prices", func(b *testing.B) {
		for b.Loop() {
			if _, err := priced.Next(b.Context(), []*policy.Prices{at}, rows); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("executions", func(b *testing.B) {
		d, err := priced.Decide(b.Context(), at, rows.Features, 1)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := priced.Executions(b.Context(), at, rows.Features, d.Cost); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Next(b.Context(), nil, rows); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Decide(b.Context(), nil, rows.Features, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The prices of a cascade with a guarantee say where they are not among those of the promise.
func TestPromisedPricesOfACascade(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "stages.onnx")
	policiestest.WritePricedCascade(t, path, dim, 3)
	m, _, err := cascade.Read(path)
	if err == nil {
		m, err = cascadetest.Guarded(m, 0.2)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	set := open(t, settings(folder))
	p := acquire(t, set, "stages")
	for lambda, promised := range map[float64]bool{1: true, 2: false} {
		at, err := p.Price(set.Pricing(), policy.PriceChange{Lambda: &lambda})
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(at.Unchecked, func(why string) bool { return strings.Contains(why, "guarantee") })
		if p.Promises(at) != promised || told == promised {
			t.Errorf("lambda %g: promised %v, %q", lambda, p.Promises(at), at.Unchecked)
		}
	}
}
