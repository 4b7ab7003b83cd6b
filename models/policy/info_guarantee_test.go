package policy

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// promised is a guarantee with a threshold; nil: every decision is accepted.
func promised(threshold *float64, lambdas ...float64) Guarantee {
	g := Guarantee{Risk: 0.1, Confidence: 0.95, Method: "ltt", Bound: 1, Threshold: threshold, Split: "val", Rows: 100, Instead: Instead{Name: Abstain}}
	for _, l := range lambdas {
		g.At = append(g.At, GuaranteedPrice{Lambda: l, Accepted: 0.5, Samples: 50})
	}
	return g
}

func openGuaranteed(t *testing.T, m *onnx.Model, g Guarantee) *Decider {
	t.Helper()
	out, err := WithGuarantee(m, g)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecider(orttest.Open(t, 0), out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// The file accepts those decisions whose pair has an expected loss of at most the threshold, in every way of asking, and all else is
// as without the guarantee.
func TestAcceptedIsTheThresholdOnTheChosenPair(t *testing.T) {
	for seed := range uint64(6) {
		p, plain, x := anyPrice(t, seed)
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		rows := len(x) / p.FeatureDim()
		want := decideAt(t, plain, plain.base, x)
		var chosen []float32
		for n, i := range want.Action {
			chosen = append(chosen, want.Loss[n*want.Actions+int(i)])
		}
		sorted := slices.Clone(chosen)
		slices.Sort(sorted)
		threshold := float64(sorted[rows/2])
		d := openGuaranteed(t, m, promised(&threshold, p.Lambda))
		got := decideAt(t, d, d.base, x)
		if !sameBits(got.Scores, want.Scores) || !sameBits(got.Loss, want.Loss) || !slices.Equal(got.Action, want.Action) {
			t.Fatal("a guarantee changes decisions")
		}
		ask := &Ask{Features: x, Rows: rows}
		d.DecideTogether(context.Background(), []*Ask{ask})
		if ask.Err != nil {
			t.Fatal(ask.Err)
		}
		accepted := 0
		for n, loss := range chosen {
			if got.Accepted[n] != (loss <= float32(threshold)) || got.Rows(n, n+1).Accepted[0] != got.Accepted[n] {
				t.Fatalf("seed %d, row %d: accepted is %v, the expected loss %v, the threshold %v", seed, n, got.Accepted[n], loss, threshold)
			}
			if ask.Answer.Accepted[n] != (ask.Answer.Loss[n*want.Actions+int(ask.Answer.Action[n])] <= float32(threshold)) {
				t.Fatalf("together: row %d is accepted: %v", n, ask.Answer.Accepted[n])
			}
			if got.Accepted[n] {
				accepted++
			}
		}
		if accepted == 0 || accepted == rows && sorted[0] != sorted[rows-1] {
			t.Fatalf("%d of %d accepted", accepted, rows)
		}
		if want.Accepted != nil {
			t.Error("a policy without a guarantee accepts something")
		}
	}
}

// A decision that a mask changes is not accepted; others stay as they are.
func TestMaskedDecisionsAreNotAccepted(t *testing.T) {
	p, _, x := anyPrice(t, 0)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d := openGuaranteed(t, m, promised(nil, p.Lambda))
	before, after := decideAt(t, d, d.base, x), decideAt(t, d, d.base, x)
	if slices.Contains(before.Accepted, false) {
		t.Fatal("without a threshold, every decision is accepted")
	}
	mask := p.Actions.Mask()
	mask[before.Action[0]] = false
	if err := after.Masked(mask); err != nil {
		t.Fatal(err)
	}
	for n := range after.Action {
		if after.Accepted[n] != (after.Action[n] == before.Action[n]) {
			t.Errorf("row %d: accepted is %v, action %d was %d", n, after.Accepted[n], after.Action[n], before.Action[n])
		}
	}
}

// Policies that estimate nothing accept all decisions, and a threshold for them is an error.
func TestPoliciesWithoutEstimatesAcceptAll(t *testing.T) {
	for decoder := range decoders {
		if decoder == DecoderEstimate {
			continue
		}
		p := randomPolicy(rand.New(rand.NewPCG(3, 1)), decoder, 2, false)
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		d := openGuaranteed(t, m, promised(nil, p.Lambda))
		out, err := d.Decide(context.Background(), coststest.Floats(rand.New(rand.NewPCG(1, 1)), 5*p.FeatureDim()), 5)
		if err != nil || len(out.Accepted) != 5 || slices.Contains(out.Accepted, false) {
			t.Errorf("%s: %v %v", decoder, out, err)
		}
		if _, err := WithGuarantee(m, promised(new(0.5), p.Lambda)); err == nil || !strings.Contains(err.Error(), "estimates no losses") {
			t.Errorf("%s: a threshold: %v", decoder, err)
		}
	}
}

func TestGuaranteeIsOfItsPrices(t *testing.T) {
	p, _, _ := anyPrice(t, 1)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	g := promised(new(0.5), p.Lambda, 3)
	out, err := WithGuarantee(m, g)
	if err != nil {
		t.Fatal(err)
	}
	info, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if info.Format != 4 || info.Guarantee == nil || *info.Guarantee.Threshold != 0.5 {
		t.Errorf("%+v", info)
	}
	told := func(c PriceChange) bool {
		at, err := info.Price(c)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(at.Unchecked, func(why string) bool { return strings.Contains(why, "guarantee") })
	}
	three, two := 3.0, 2.0
	if told(PriceChange{Lambda: &three}) || !told(PriceChange{Lambda: &two}) || !told(PriceChange{Fees: []Fee{{Expert(p.Actions.Experts[0].Name), 1.5}}}) {
		t.Error("prices of the guarantee, and others")
	}
	if _, _, err := Freeze(out, PriceChange{Lambda: &two}); err == nil || !strings.Contains(err.Error(), "guarantee is for other prices") {
		t.Errorf("frozen at another price: %v", err)
	}
	frozen, _, err := Freeze(out, PriceChange{Lambda: &three})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := Parse(frozen); err != nil || kept.Guarantee == nil || kept.Format != 4 {
		t.Errorf("frozen: %+v %v", kept, err)
	}
	if _, err := WithGuarantee(out, g); err == nil || !strings.Contains(err.Error(), "has a guarantee already") {
		t.Errorf("twice: %v", err)
	}
}

func TestWrongGuarantees(t *testing.T) {
	p, _, _ := anyPrice(t, 1)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Guarantee){
		"no prices":          func(g *Guarantee) { g.At = nil },
		"a risk of 0":        func(g *Guarantee) { g.Risk = 0 },
		"no float32":         func(g *Guarantee) { g.Threshold = new(0.1) },
		"confidence":         func(g *Guarantee) { g.Confidence = 1 },
		"a negative fee":     func(g *Guarantee) { g.Instead.Fee = new(-1.0) },
		"nobody":             func(g *Guarantee) { g.Instead.Name = "" },
		"an unknown expert":  func(g *Guarantee) { g.Instead.Name = "nobody I know" },
		"a law of no prices": func(g *Guarantee) { g.Law, g.At = "uniform", append(g.At, g.At...) },
	} {
		g := promised(new(0.5), p.Lambda)
		change(&g)
		if _, err := WithGuarantee(m, g); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// a file whose graph contradicts its metadata
	out, err := WithGuarantee(m, promised(new(0.5), p.Lambda))
	if err != nil {
		t.Fatal(err)
	}
	meta := out.Metadata()
	meta["pipe.risk"] = strings.Replace(meta["pipe.risk"], `"threshold":0.5`, `"threshold":-4`, 1)
	out.SetMetadata(meta)
	d, err := NewDecider(orttest.Open(t, 0), out)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := coststest.Floats(rand.New(rand.NewPCG(1, 1)), 50*p.FeatureDim())
	if _, err := d.Decide(context.Background(), x, 50); err == nil || !strings.Contains(err.Error(), "a damaged file") {
		t.Errorf("another threshold in the metadata: %v", err)
	}
	meta["pipe.risk"] = "{"
	out.SetMetadata(meta)
	if _, err := Parse(out); err == nil {
		t.Error("no JSON: no error")
	}
}

// What takes over is found by its name, also where names contain a slash: an expert comes before a pair, and a name of two pairs is refused.
func TestInsteadPair(t *testing.T) {
	a := &costs.Actions{
		Experts: []costs.Expert{{Name: "org"}, {Name: "org/large"}, {Name: "person"}, {Name: "person/web"}},
		Advice:  []costs.Advice{{Name: "none"}, {Name: "web"}, {Name: "large/web"}}, Unavailable: []costs.Pair{{Expert: 2}},
	}
	for name, want := range map[string]int{Abstain: -1, "org": 0, "org/large": 3, "org/web": 1, "person/web": 9, "person/web/web": 10} {
		if got, err := (Instead{Name: name}).Pair(a); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"org/large/web": "two pairs have this name", "person": "person/none is not available", "nobody": `unknown pair "nobody"`, "": "unknown pair"} {
		if _, err := (Instead{Name: name}).Pair(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}
