package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/models/network"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

func mustDecider(t testing.TB, rt *ort.Runtime, p *Policy) *Decider {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestDeciderReadsWhatExportWrote(t *testing.T) {
	rt := orttest.Open(t, 0)
	rng := rand.New(rand.NewPCG(8, 8))
	p := randomPolicy(rng, DecoderComposite, 3, true)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.onnx")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	d, err := Open(rt, path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	compareWithReference(t, p, d, coststest.Floats(rng, 50*p.FeatureDim()))
	if d.Info().Method != "ours" {
		t.Errorf("info %+v", d.Info())
	}
}

func TestOpenDeciderRefusesOtherFiles(t *testing.T) {
	rt := orttest.Open(t, 0)
	dir := t.TempDir()
	g := onnx.NewGraph("other")
	g.Output("y", g.Neg(g.Input("pixels", onnx.Float32, onnx.Dims(3))))
	other, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "other.onnx")
	if err := other.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(rt, path); !errors.Is(err, ErrNotPolicy) || !strings.Contains(err.Error(), `"pixels"`) {
		t.Errorf("another model: %v", err)
	}
	garbage := filepath.Join(dir, "garbage.onnx")
	if err := os.WriteFile(garbage, []byte("PAR1 not a model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, filepath.Join(dir, "absent.onnx"), dir} {
		if _, err := Open(rt, path); err == nil || !strings.Contains(err.Error(), "read policy") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDeciderIsConcurrentAndBatchFree(t *testing.T) {
	rt := orttest.Open(t, 0)
	rng := rand.New(rand.NewPCG(9, 9))
	p := randomPolicy(rng, DecoderComposite, 2, false)
	d := mustDecider(t, rt, p)
	dim := p.FeatureDim()
	features := coststest.Floats(rng, 64*dim)
	want, err := d.Decide(context.Background(), features, 64)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for n := worker; n < 64; n += 8 {
				action, err := d.DecideOne(context.Background(), nil, features[n*dim:(n+1)*dim])
				if err != nil || int64(action) != want.Action[n] {
					t.Errorf("row %d alone: action %d, %v; in the batch %d", n, action, err, want.Action[n])
				}
			}
		})
	}
	wait.Wait()
}

func TestDecideRefusesBadInput(t *testing.T) {
	rt := orttest.Open(t, 0)
	d := mustDecider(t, rt, biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3))
	ctx := context.Background()
	if _, err := d.Decide(ctx, make([]float32, 3), 2); err == nil {
		t.Error("short features: no error")
	}
	bad := []float32{0, 0, 0, float32(math.NaN())}
	if _, err := d.Decide(ctx, bad, 2); err == nil || !strings.Contains(err.Error(), "row 1: feature 1") {
		t.Errorf("NaN: %v", err)
	}
	if out, err := d.Decide(ctx, nil, 0); err != nil || len(out.Action) != 0 {
		t.Errorf("no rows: %v, %v", out, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := d.Decide(cancelled, make([]float32, 2), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Decide(ctx, make([]float32, 2), 1); !errors.Is(err, ort.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Finite features can still overflow float32 inside the network.
func TestDecideRefusesOverflow(t *testing.T) {
	p := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3)
	for i := range p.Members[0].Layers[0].W {
		p.Members[0].Layers[0].W[i] = 1e30
	}
	d := mustDecider(t, orttest.Open(t, 0), p)
	if _, err := d.Decide(context.Background(), []float32{0, 0, 1e30, 1e30}, 2); err == nil || !strings.Contains(err.Error(), "row 1: ") {
		t.Errorf("error %v", err)
	}
}

// NaN and infinity that get into the file in another way must not become a decision, whichever pairs are unavailable.
func TestFileMarksNaN(t *testing.T) {
	rt := orttest.Open(t, 0)
	for seed := range uint64(40) {
		for _, decoder := range []Decoder{DecoderComposite, DecoderL2D, DecoderSeparated, DecoderSeparatedSoftmax, DecoderEstimate} {
			p := randomPolicy(rand.New(rand.NewPCG(seed, 1)), decoder, 2, true)
			s, err := rt.Session(exportBytes(t, p), rt.SessionOptions())
			if err != nil {
				t.Fatal(err)
			}
			const rows = 6
			dim := p.FeatureDim()
			x := make([]float32, rows*dim)
			for n := range rows {
				x[n*dim+n/2%dim] = float32([]float64{math.NaN(), math.Inf(1), math.NaN(), math.Inf(-1)}[n%4])
			}
			out, err := s.Run(context.Background(), map[string]*onnx.Tensor{FeaturesInput: onnx.Float32s([]int64{rows, int64(dim)}, x)})
			if err = errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			for n, got := range out[ActionOutput].Int64s() {
				if got != int64(p.Actions.Len()) {
					t.Errorf("seed %d, %s, row %d: action %d, want %d, one past the last", seed, decoder, n, got, p.Actions.Len())
				}
			}
		}
	}
}

func TestMasks(t *testing.T) {
	rt := orttest.Open(t, 0)
	p := biasPolicy(DecoderComposite, 2, 3, 5, 1, 2, 4, 3, 2) // A/a A/b A/c B/a B/b B/c
	d := mustDecider(t, rt, p)
	for _, c := range []struct {
		without []Part
		want    int64
	}{
		{nil, 0}, {[]Part{Expert("A")}, 3}, {[]Part{Advice("a")}, 4}, {[]Part{Advice("a"), Expert("B")}, 2}, {[]Part{Advice("a"), Advice("b")}, 2}, {[]Part{Pair("A/a"), Pair("B/a")}, 4},
	} {
		mask, err := Without(p.Actions, c.without)
		if err != nil {
			t.Fatal(err)
		}
		out, err := d.Decide(context.Background(), make([]float32, 4), 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Masked(mask); err != nil {
			t.Fatal(err)
		}
		if out.Action[1] != c.want || out.Expert[1] != c.want/3 || out.Advice[1] != c.want%3 {
			t.Errorf("without %v: action %d (%d, %d), want %d", c.without, out.Action[1], out.Expert[1], out.Advice[1], c.want)
		}
	}
	for _, c := range []struct{ without, want string }{
		{"expert=C", `known are "A", "B"`}, {"advice=x", `known are "a", "b", "c"`}, {"A", "neither"}, {"pair=A", `unknown pair "A"; known are A/a`}, {"pairs=A/a", "neither"},
	} {
		part, err := ParsePart(c.without)
		if err == nil {
			_, err = Without(p.Actions, []Part{part})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v", c.without, err)
		}
	}
	if _, err := Without(p.Actions, []Part{Expert("A"), Expert("A")}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
	if _, err := Without(p.Actions, []Part{Expert("A"), Expert("B")}); err == nil || !strings.Contains(err.Error(), "no action remains") {
		t.Errorf("nothing remains: %v", err)
	}
}

func TestMaskThatLeavesAnL2DPolicyNothing(t *testing.T) {
	rt := orttest.Open(t, 0)
	p := biasPolicy(DecoderL2D, 2, 2, 1, 0)
	mask, err := Without(p.Actions, []Part{Advice("a")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := mustDecider(t, rt, p).Decide(context.Background(), make([]float32, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Masked(mask); err == nil || out.Action[0] != 0 {
		t.Errorf("error %v, action %d", err, out.Action[0])
	}
}

func TestFixedPolicyOrdersTheOthers(t *testing.T) {
	a := coststest.Actions([]float64{0, 0}, []float64{0, 0})
	a.Unavailable = []costs.Pair{{Expert: 1, Advice: 1}}
	p := NewFixed(a, []float64{0.5, 0.2, 0.3, math.Inf(1)}, 1, 2)
	p.Method = "auto"
	d := mustDecider(t, orttest.Open(t, 0), p)
	out, err := d.Decide(context.Background(), make([]float32, 6), 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out.Action, []int64{1, 1, 1}) || d.Info().Fixed != 1 {
		t.Fatalf("actions %v, fixed %d", out.Action, d.Info().Fixed)
	}
	if err := out.Masked([]bool{true, false, true, true}); err != nil || out.Action[0] != 2 {
		t.Errorf("next best %d, %v; want 2", out.Action[0], err)
	}
}

// Costs that are equal up to rounding of sums differ in float64 and not in the file.
func TestFixedPolicyDecidesTiesInTheFilesPrecision(t *testing.T) {
	p := NewFixed(coststest.Actions([]float64{0, 0}, []float64{0}), []float64{0.2 + 1e-16, 0.2 - 1e-16}, 1, 2)
	if err := (decodeFixed{}).check(p); err != nil || p.Fixed != 0 {
		t.Errorf("action %d, %v", p.Fixed, err)
	}
}

func benchmarkPolicy(dim, hidden, members int) *Policy {
	rng := rand.New(rand.NewPCG(1, 1))
	p := biasPolicy(DecoderComposite, 3, 5, make([]float32, 15)...)
	p.Standard = network.Standardizer{Mean: coststest.Floats(rng, dim), Scale: coststest.Floats(rng, dim)}
	p.Members = nil
	for range members {
		p.Members = append(p.Members, network.MLP{Layers: []network.Affine{
			{Out: hidden, In: dim, W: coststest.Floats(rng, hidden*dim), B: coststest.Floats(rng, hidden)},
			{Out: 15, In: hidden, W: coststest.Floats(rng, 15*hidden), B: coststest.Floats(rng, 15)},
		}})
	}
	return p
}

func BenchmarkDecideOne(b *testing.B) {
	for _, s := range []struct{ dim, hidden, members int }{{64, 64, 1}, {64, 64, 4}, {384, 128, 1}, {384, 128, 4}} {
		b.Run(fmt.Sprintf("dim=%d/hidden=%d/members=%d", s.dim, s.hidden, s.members), func(b *testing.B) {
			d := mustDecider(b, orttest.Open(b, 0), benchmarkPolicy(s.dim, s.hidden, s.members))
			x := make([]float32, s.dim)
			for b.Loop() {
				if _, err := d.DecideOne(context.Background(), nil, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecideBatch(b *testing.B) {
	const rows = 4096
	for _, members := range []int{1, 4} {
		b.Run(fmt.Sprintf("rows=%d/dim=64/hidden=64/members=%d", rows, members), func(b *testing.B) {
			d := mustDecider(b, orttest.Open(b, 0), benchmarkPolicy(64, 64, members))
			x := coststest.Floats(rand.New(rand.NewPCG(2, 2)), rows*64)
			for b.Loop() {
				if _, err := d.Decide(context.Background(), x, rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
