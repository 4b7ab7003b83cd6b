package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/report/figure"
)

// sampleFigures are figures of every kind.
func sampleFigures(t testing.TB) []figure.Figure {
	t.Helper()
	r := sampleReport()
	for i, n := range []int{250, 500, 1000, 2500, 5000} {
		for m, name := range []string{"ours", "separated", "l2d"} {
			mean := []float64{0.03 / float64(i+1), 0.062 - 0.002*float64(i), 0.062}[m]
			r.Rows = append(r.Rows, Row{Method: name, N: n, Lambda: new(1.0), ExcessMean: new(mean), ExcessStd: new(0.004 / float64(i+1))})
		}
	}
	r.Distribution = nil
	for i, l := range []float64{0, 0.5, 1, 2, 10} {
		for j, expert := range []string{"", "Qwen3-4B", "Qwen3-8B", "DeBERTa"} {
			p := float64(i) / 5
			r.Distribution = append(r.Distribution, AdviceShares{
				Method: "ours", Lambda: l, Expert: expert, Routed: []float64{1, 0.2, 0.3, 0.5}[j],
				Advice: []string{"none", "top-1", "top-3"}, Share: []float64{p, (1 - p) / 2, (1 - p) / 2},
			})
		}
		r.Frontier = append(r.Frontier, FrontierPoint{
			Method: "ours", Lambda: l, Loss: 0.2 + 0.01*float64(i), LossInterval: &Interval{Low: 0.1, High: 0.4}, Money: 0.3 - 0.02*float64(i), MoneyInterval: &Interval{Low: 0.1, High: 0.5},
		})
	}
	r.Constants = []ConstantPoint{{Pair: "Qwen3-4B/none", Loss: 0.4}, {Pair: "Qwen3-8B/none", Loss: 0.3, Money: 0.1}, {Pair: "Qwen3-8B/top-3", Loss: 0.35, Money: 0.2}}
	r.Cascades = []Cascade{
		{Lambda: 0, Pairs: []CascadePairUse{{Pair: "a/none", Accepted: 0.4}, {Pair: "b/none", Accepted: 0.6}}},
		{Lambda: 1, Pairs: []CascadePairUse{{Pair: "b/none", Accepted: 1}}},
	}
	const size = 120
	var maps []DecisionMap
	for m, name := range []string{"ours", "separated", "l2d"} {
		d := DecisionMap{Title: name, Size: size, Action: make([]int, size*size)}
		for i := range d.Action {
			x, y := CellCentre(i%size, size), CellCentre(i/size, size)
			if x+0.02*math.Sin(8*y) >= 0 {
				d.Action[i] = []int{1, 1, 2}[m]
			} else {
				d.Action[i] = []int{0, 3, 0}[m]
			}
		}
		maps = append(maps, d)
	}
	decisions, err := DecisionFigure(maps, []string{"expert 0/none", "expert 0/advice", "expert 1/none", "expert 1/advice"})
	if err != nil {
		t.Fatal(err)
	}
	pairs := PairMap{Method: "ours", Lambda: 1, Rows: 900, Held: 0.4}
	for i := range 300 {
		pairs.Points = append(pairs.Points, [2]float64{math.Sin(float64(i)), math.Cos(3 * float64(i))})
		pairs.Pairs = append(pairs.Pairs, "expert "+string(rune('a'+i%9)))
	}
	r.Figures = []figure.Figure{*decisions, *pairs.Figure()}
	return r.illustrated().Figures
}

func TestFiguresRepeatByteForByte(t *testing.T) {
	first, second := sampleFigures(t), sampleFigures(t)
	var names []string
	for i, f := range first {
		names = append(names, f.Name)
		svg := f.SVG()
		if !bytes.Equal(svg, second[i].SVG()) {
			t.Errorf("figure %q differs between two runs", f.Name)
		}
		if err := wellFormed(svg); err != nil {
			t.Errorf("figure %q: %v", f.Name, err)
		}
		if len(svg) > 60_000 {
			t.Errorf("figure %q has %d bytes of SVG", f.Name, len(svg))
		}
		if f.Title == "" || f.About == "" || f.Note == "" {
			t.Errorf("figure %q lacks words: %q, %q, %q", f.Name, f.Title, f.About, f.Note)
		}
	}
	for _, want := range []string{"decisions", "map_ours", "excess", "frontier", "calibration", "learning", "segments_lambda1", "pairs_ours", "flow_ours", "pairs_cascade"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no figure %q in %q", want, names)
		}
	}
}

func wellFormed(svg []byte) error {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestDecisionFigureRefusesWrongMaps(t *testing.T) {
	for _, m := range []DecisionMap{{Size: 2, Action: []int{0}}, {Size: 1, Action: []int{7}}, {Size: 1, Action: []int{-1}}, {}} {
		if _, err := DecisionFigure([]DecisionMap{m}, []string{"a", "b"}); err == nil {
			t.Errorf("map %+v was drawn", m)
		}
	}
	if _, err := DecisionFigure(nil, make([]string, figure.Most+1)); err == nil {
		t.Error("seven pairs were drawn")
	}
}

// Whatever pairs are used, a bar has at most Most parts, which add up to all that is used.
func TestPartsOfBarsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := use{who: "x", verb: "chosen by"}
		sums := map[float64]float64{}
		for range rapid.IntRange(1, 40).Draw(t, "pairs") {
			l := float64(rapid.IntRange(0, 3).Draw(t, "lambda"))
			share := rapid.Float64Range(0, 0.1).Draw(t, "share")
			u.add(l, rapid.StringMatching("[a-j]").Draw(t, "expert"), rapid.StringMatching("[a-c]").Draw(t, "advice"), share)
			sums[l] += share
		}
		f := pairsFigure(u, "")
		if f == nil {
			return
		}
		stack := f.Body.(*figure.Stack)
		if len(stack.Keys) > figure.Most || len(stack.Bars) != len(u.lambdas) {
			t.Fatalf("%d parts, %d bars", len(stack.Keys), len(stack.Bars))
		}
		slices.Sort(u.lambdas)
		for i, bar := range stack.Bars {
			sum := 0.0
			for _, p := range bar.Parts {
				sum += p
			}
			if math.Abs(sum-sums[u.lambdas[i]]) > 1e-12 {
				t.Fatalf("bar %d has %g, %g was used", i, sum, sums[u.lambdas[i]])
			}
		}
	})
}

// A figure of nothing is left out.
func TestNoFigureOfNothing(t *testing.T) {
	r := &Report{
		Rows:         []Row{{Method: "ours", Lambda: new(1.0), TrueLossMean: 0.1}},
		Distribution: []AdviceShares{{Method: "ours", Lambda: 1, Expert: "a", Routed: 1, Advice: []string{"none"}, Share: []float64{1}}},
		Segments:     []Segments{{Lambda: 1}}, Calibration: []Calibration{{Policy: "p"}},
	}
	if got := r.illustrated().Figures; len(got) > 0 {
		t.Errorf("%d figures, such as %s", len(got), got[0].Name)
	}
	if f := (&PairMap{Points: [][2]float64{{0, 0}}, Pairs: []string{"a/none"}}).Figure(); f != nil {
		t.Error("a map of one pair")
	}
}

// Files of an earlier run, of more lambdas, do not stay beside those of a later one.
func TestFiguresOfAnEarlierRunGo(t *testing.T) {
	for form, write := range map[string]func(context.Context, storage.Location, *Report) error{"figures": WriteFigures, "report": Write} {
		dir := t.TempDir()
		first := sampleReport()
		first.Segments = []Segments{{Lambda: 0.2, Segments: []Segment{{Name: "s", Rows: 3}}}}
		first.Figures = sampleFigures(t)
		if err := write(t.Context(), storage.File(dir), first); err != nil {
			t.Fatal(err)
		}
		all, _ := filepath.Glob(filepath.Join(dir, "*.svg"))
		for _, f := range all {
			if !slices.ContainsFunc(FigurePatterns, func(p string) bool { ok, _ := filepath.Match(p, filepath.Base(f)); return ok }) {
				t.Errorf("no pattern matches %s", f)
			}
		}
		if err := write(t.Context(), storage.File(dir), &Report{Rows: []Row{{Method: "ours", TrueLossMean: 0.1}}}); err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*.svg"))
		if len(all) < 8 || len(left) > 0 {
			t.Errorf("%s: %d figures, %q remain", form, len(all), left)
		}
	}
	if (&Report{}).HasFigures() || !sampleReport().HasFigures() {
		t.Error("HasFigures is wrong")
	}
}

// A figure whose values are not finite is left out.
func TestNoFigureOfUnknownValues(t *testing.T) {
	nan := math.NaN()
	r := &Report{
		Rows:     []Row{{Method: "ours", Lambda: new(0.5), TrueLossMean: nan}, {Method: "ours", Lambda: new(1.0), TrueLossMean: nan}},
		Segments: []Segments{{Lambda: 1, Segments: []Segment{{Name: "s", Mean: nan}}}},
	}
	if len(r.illustrate()) == 0 || r.HasFigures() {
		t.Errorf("%d figures, shown: %v", len(r.illustrate()), r.HasFigures())
	}
}

// The flow of a lambda divides all rows among experts, and these among advice.
func TestFlowDividesAllRows(t *testing.T) {
	for _, f := range sampleFigures(t) {
		if !strings.HasPrefix(f.Name, flowName) {
			continue
		}
		sums := map[int]float64{}
		for _, b := range f.Body.(*figure.Flow).Bands {
			sums[b.Column] += b.Share
		}
		if math.Abs(sums[0]-1) > 1e-9 || math.Abs(sums[1]-1) > 1e-9 {
			t.Errorf("%s: %v", f.Name, sums)
		}
	}
}

// A method with a policy per lambda has a point for each, although the price of lambda 1 multiplies all fees; a curve over factors has no
// other points. The caption says so, and what the fees are worth.
func TestFrontierHasAPointPerPolicy(t *testing.T) {
	points := []FrontierPoint{
		{Method: "any_price", Lambda: 0, ExpertFactor: 0, Scale: new(0.0), Money: 0.4},
		{Method: "any_price", Lambda: 1, ExpertFactor: 1, Scale: new(1.0), Money: 0.2},
		{Method: "any_price", Lambda: 2, ExpertFactor: 1, Money: 0.1},
		{Method: "auto", Lambda: 0.5, ExpertFactor: 1, Money: 0.3},
		{Method: "auto", Lambda: 1, ExpertFactor: 1, Scale: new(1.0), Money: 0.2},
		{Method: "auto", Lambda: 2, ExpertFactor: 1, Money: 0.1},
	}
	f := frontierFigure(points, nil, &costs.Money{PerLoss: 2, Currency: "USD"}, "")
	got := map[string]int{}
	for _, s := range f.Body.(*figure.Plot).Series {
		got[s.Name] = len(s.Points)
	}
	if got["any_price"] != 2 || got["auto"] != 3 {
		t.Errorf("points by method: %v", got)
	}
	for _, want := range []string{"One point per factor", "per lambda", "1 is worth 2 USD"} {
		if !strings.Contains(f.Note, want) {
			t.Errorf("%q is not in the caption %q", want, f.Note)
		}
	}
	if f := frontierFigure(points, nil, nil, ""); strings.Contains(f.Note, "worth") {
		t.Error(f.Note)
	}
}
