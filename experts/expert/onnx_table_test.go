package expert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/onnx"
)

// tableParts makes a linear classifier over x and y - 3, whose second column only the second level reveals.
func tableParts(t *testing.T) *part.Build {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,label,x,y\n")
	for i := range 30 {
		fmt.Fprintf(&rows, "r%d,%s,%d,%g\n", i, []string{"cat", "dog", "owl"}[i%3], i, float64(i)/8)
	}
	parttest.Write(t, filepath.Join(dir, "instances.csv"), rows.String())
	parttest.LinearModel(t, filepath.Join(dir, "net.onnx"), onnx.Shape{onnx.Sym("n"), onnx.Fix(4)},
		[][]float32{{0, 1, 0}, {2, 0, 0}, {0, 0, 0}, {1, 0, 0}})
	cfg := part.DefaultConfig()
	cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "instances.csv"}}
	cfg.Advice = []part.AdviceConfig{
		{Name: "base", Kind: "columns", Settings: map[string]any{"reveal": []string{"x"}}},
		{Name: "all", Fee: 1, Kind: "columns", Settings: map[string]any{"reveal": []string{"y"}, "extends": "base"}},
	}
	cfg.Experts = []part.ExpertConfig{{Name: "net", Kind: "onnx_table", Settings: map[string]any{
		"model": "net.onnx", "columns": []string{"x", "y"}, "mean": []float64{0, 1}, "std": []float64{1, 0.5},
		"hidden": -1, "indicators": true, "scores": "logits",
	}}}
	return makeParts(t, &cfg, dir)
}

func TestTableClassifierSeesWhatIsRevealed(t *testing.T) {
	b := tableParts(t)
	batch := loadFirst(t, b, 9)
	shown := showAll(t, b, batch)
	parttest.ExpertLaws(t, b.Experts[0], batch, shown)
	e := b.Experts[0].Expert.(*tableClassifier)
	for k, want := range [][]float32{{8, -1, 1, 0}, {8, 0, 1, 1}} {
		got := make([]float32, 4)
		if err := e.fill(got, &batch[8], shown[k][8].Revealed); err != nil || !slices.Equal(got, want) {
			t.Errorf("level %d: the classifier sees %v, %v, want %v", k, got, err, want)
		}
	}
}
