package decisionlog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pipe/costs"
)

// testActions are j experts under k advice.
func testActions(j, k int) *costs.Actions {
	a := &costs.Actions{}
	for i := range j {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprintf("expert%d", i), Fee: float64(i)})
	}
	for i := range k {
		a.Advice = append(a.Advice, costs.Advice{Name: fmt.Sprintf("advice%d", i), Fee: float64(i) / 8})
	}
	return a
}

func testPolicy(j, k, dim int) PolicyInfo {
	return PolicyInfo{Name: "test", Digest: fmt.Sprintf("sha256:%d-%d-%d", j, k, dim), Actions: testActions(j, k), Lambda: 0.5, Dim: dim}
}

// testRecord is a random record of a policy; every field is set to something, over several calls.
func testRecord(rng *rand.Rand, p *PolicyInfo) *Record {
	a := p.Actions.Len()
	r := &Record{
		Time: time.Now().UnixMicro(), ID: NewID(), Request: "r\"1\n", Source: "decide", Client: "Zoë", User: "u", Policy: p.Name, Digest: p.Digest,
		Canary: rng.IntN(2) == 0, Lambda: rng.Float64(), ExpertFees: make([]float64, len(p.Actions.Experts)),
		AdviceFees: make([]float64, len(p.Actions.Advice)), Available: make([]bool, a), Propensity: make([]float64, a), Guarded: rng.IntN(2) == 0,
		Keep: 1, Executed: rng.IntN(a+1) - 1, Stages: Stages{1, 2, 3, 4, 5, rng.Int64N(1 << 40)}, Model: "m", PriceDate: "2026-01-02", Error: "bad",
	}
	for i := range p.Dim {
		r.Features = append(r.Features, float32(rng.NormFloat64())+float32(i))
	}
	sum := 0.0
	for i := range r.Available {
		r.Available[i] = i == 0 || rng.IntN(3) > 0
		if r.Available[i] {
			r.Propensity[i] = rng.Float64() + 1e-3
			sum += r.Propensity[i]
			r.Action, r.Greedy = i, i
		}
	}
	for i := range r.Propensity {
		r.Propensity[i] /= sum
	}
	if rng.IntN(2) == 0 {
		r.ExpectedLoss, r.ExpectedCost = make([]float32, a), make([]float32, a)
		for i := range a {
			r.ExpectedLoss[i], r.ExpectedCost[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
			if !r.Available[i] {
				r.ExpectedLoss[i], r.ExpectedCost[i] = float32(math.NaN()), float32(math.NaN())
			}
		}
		r.Attempts = []Attempt{{0, 500, 17, "overload"}, {r.Action, 200, 23, ""}}
		r.Usage, r.Fee, r.FeeKnown = Usage{10, 3, 4, true, true}, 0.125, true
		r.Shadows = []Shadow{{"other", "sha256:x", 1, 0.25}, {"third", "sha256:y", 0, 2}}
	}
	if rng.IntN(3) == 0 {
		r.PairFees = make([]float64, a)
		r.PairFees[rng.IntN(a)] = rng.NormFloat64()
	}
	if rng.IntN(3) == 0 {
		r.Share, r.OwnPropensity = 0.25, make([]float64, a)
		r.OwnPropensity[r.Action] = 1
	}
	return r
}

func appendRecord(dst []byte, r *Record) []byte { return newLineWriter().append(dst, r) }

func readRecord(body []byte) (*Record, error) { return newRecordReader().read(body) }

func quick() Settings {
	s := DefaultSettings()
	s.FlushInterval = 20 * time.Millisecond
	return s
}

// readAll reads a log.
func readAll(t testing.TB, folder string) (list []Decision, l *Log) {
	t.Helper()
	l, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list, l
}

func plain(r *Record) string {
	return fmt.Sprintf("%+v", *r)
}

// What was added is read back, from open segments and from Parquet, with outcomes.
func TestWriteThenRead(t *testing.T) {
	folder := t.TempDir()
	s := quick()
	s.SegmentBytes = 40_000
	w, err := Open(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	policies := []PolicyInfo{testPolicy(2, 3, 5), testPolicy(3, 1, 40)}
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string]*Record{}
	for n := range 400 {
		p := &policies[n%2]
		if n < 2 {
			if err := w.Policy(*p); err != nil {
				t.Fatal(err)
			}
		}
		r := testRecord(rng, p)
		want[r.ID] = r
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 {
			loss := float64(n)
			if again, err := w.Outcome(Outcome{ID: r.ID, Time: r.Time + 5, Loss: &loss, Label: "l", Comment: "c"}); err != nil || again {
				t.Fatal(again, err)
			}
		}
		if n%50 == 0 {
			time.Sleep(25 * time.Millisecond)
		}
	}
	for _, closed := range []bool{false, true} {
		if closed {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			for w.Stats().Queued > 0 {
				time.Sleep(time.Millisecond)
			}
		}
		got, l := readAll(t, folder)
		if len(got) != len(want) || len(l.Policies()) != 2 {
			t.Fatalf("closed %t: %d records of %d policies", closed, len(got), len(l.Policies()))
		}
		for _, d := range got {
			if plain(d.Record) != plain(want[d.ID]) {
				t.Fatalf("closed %t:\n%s\n%s", closed, plain(d.Record), plain(want[d.ID]))
			}
			if !reflect.DeepEqual(d.About.Actions, testActions(len(d.ExpertFees), len(d.AdviceFees))) {
				t.Fatalf("actions %+v", d.About.Actions)
			}
		}
		if c := l.Counts(); c.Outcomes != 134 || c.Unmatched != 0 || c.Conflicts != 0 || c.Damage != (Damage{}) {
			t.Errorf("closed %t: %+v", closed, c)
		}
	}
	list, err := listSegments(folder, decisions)
	if err != nil || len(list) < 3 {
		t.Errorf("%d segments, %v", len(list), err)
	}
	for _, s := range list {
		if s.lines || !s.parquet {
			t.Errorf("segment %d: lines %t, Parquet %t", s.number, s.lines, s.parquet)
		}
	}
}
