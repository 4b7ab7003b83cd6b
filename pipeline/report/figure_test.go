package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"pipe/internal/storage"
)

func sampleFigures(t testing.TB) []Figure {
	t.Helper()
	var rows []Row
	for i, n := range []int{250, 500, 1000, 2500, 5000} {
		for m, name := range []string{"ours", "separated", "l2d"} {
			mean := []float64{0.03 / float64(i+1), 0.062 - 0.002*float64(i), 0.062}[m]
			rows = append(rows, Row{Method: name, N: n, Lambda: new(1.0), ExcessMean: new(mean), ExcessStd: new(0.004 / float64(i+1))})
		}
	}
	var regimes []Row
	var shares []AdviceShares
	for i, l := range []float64{0, 0.5, 1, 2, 10} {
		for m, name := range []string{"ours", "l2d", "best_fixed"} {
			regimes = append(regimes, Row{Method: name, Lambda: new(l), TrueLossMean: []float64{0.555 + 0.012*float64(i), 0.619, 0.611 + 0.02*float64(i)}[m], TrueLossStd: new(0.002)})
		}
		for j, expert := range []string{"", "Qwen3-4B", "Qwen3-8B", "DeBERTa"} {
			p := float64(i) / 5
			shares = append(shares, AdviceShares{
				Method: "ours", Lambda: l, Expert: expert, Routed: []float64{1, 0.2, 0.3, 0.5}[j],
				Advice: []string{"none", "top-1", "top-3"}, Share: []float64{p, (1 - p) / 2, (1 - p) / 2},
			})
		}
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
	names := []string{"expert 0/none", "expert 0/advice", "expert 1/none", "expert 1/advice"}
	var figures []Figure
	for _, draw := range []func() (Figure, error){
		func() (Figure, error) { return ExcessFigure(rows) },
		func() (Figure, error) { return lossFigure(regimes) },
		func() (Figure, error) { return DecisionFigure(maps, names) },
		func() (Figure, error) { return adviceFigure(shares, "ours") },
		func() (Figure, error) { return calibrationFigure(sampleReport().Calibration) },
	} {
		f, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		figures = append(figures, f)
	}
	return figures
}

func TestFiguresRepeatByteForByteAndDecode(t *testing.T) {
	if testing.Short() {
		t.Skip("many pictures, drawn in one goroutine: there are no races to find")
	}
	first, second := sampleFigures(t), sampleFigures(t)
	for i, f := range first {
		if !bytes.Equal(f.PNG, second[i].PNG) || !bytes.Equal(f.SVG, second[i].SVG) {
			t.Errorf("figure %q differs between two runs", f.Name)
		}
		if _, err := png.Decode(bytes.NewReader(f.PNG)); err != nil {
			t.Errorf("figure %q: %v", f.Name, err)
		}
		if err := wellFormed(f.SVG); err != nil {
			t.Errorf("figure %q: %v", f.Name, err)
		}
		if len(f.SVG) > 200_000 {
			t.Errorf("figure %q has %d bytes of SVG", f.Name, len(f.SVG))
		}
		if dir := os.Getenv("PIPE_FIGURES"); dir != "" {
			if err := Write(t.Context(), storage.File(dir), &Report{Figures: first}); err != nil {
				t.Fatal(err)
			}
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

func TestRectanglesCoverTheMapOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		m := DecisionMap{Size: size, Action: rapid.SliceOfN(rapid.IntRange(0, 2), size*size, size*size).Draw(t, "actions")}
		seen := make([]int, size*size)
		for _, r := range (cells{m}).rectangles() {
			for y := r.row; y < r.row+r.rows; y++ {
				for x := r.from; x < r.to; x++ {
					seen[y*size+x]++
					if m.Action[y*size+x] != r.action {
						t.Fatalf("cell (%d, %d) painted as %d, is %d", x, y, r.action, m.Action[y*size+x])
					}
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("cell %d painted %d times", i, n)
			}
		}
	})
}

func TestDecisionFigureRefusesWrongMaps(t *testing.T) {
	for _, m := range []DecisionMap{{Size: 2, Action: []int{0}}, {Size: 1, Action: []int{7}}, {Size: 1, Action: []int{-1}}} {
		if _, err := DecisionFigure([]DecisionMap{m}, []string{"a", "b"}); err == nil {
			t.Errorf("map %+v was drawn", m)
		}
	}
}
