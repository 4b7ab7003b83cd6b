package expert

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/parttest"
	"pipe/onnx/ort"
)

// TestProbabilitiesAreADistribution: logits that are called probabilities are found out.
func TestProbabilitiesAreADistribution(t *testing.T) {
	m := &RowModel{output: "scores"}
	for want, row := range map[string][]float32{
		"sum to 3":              {0.5, 0.5, 2},
		"from -0.5":             {0.75, 0.75, -0.5},
		"sum to 0.5":            {0.25, 0.25, 0},
		"set scores: logits if": {-3, 7, 1},
	} {
		var data *costs.DataError
		if err := m.normalise(row); !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", row, err, want)
		}
	}
	for _, row := range [][]float32{{1, 0, 0}, {0.3, 0.3, 0.395}, {1.001, 0, -0.001}, make([]float32, 1001)} {
		if err := m.normalise(row); err != nil {
			t.Errorf("%v: %v", row, err)
		}
	}
}

// countingRunner counts the rows of the calls of one network, none of which are filling.
type countingRunner struct {
	runner
	rows *atomic.Int64
}

func (r countingRunner) RunBuffers(ctx context.Context, in, out []*ort.Buffer) error {
	r.rows.Add(in[0].Shape()[0])
	return r.runner.RunBuffers(ctx, in, out)
}

// TestDistinctViewsRunOnce counts: one row of a call per network, image and distinct view, however many levels show it.
func TestDistinctViewsRunOnce(t *testing.T) {
	dir := t.TempDir()
	cfg := parttest.Shapes(t, dir)
	b := makeParts(t, &cfg, dir)
	batch := loadFirst(t, b, 10)
	shown := showAll(t, b, batch)
	for _, e := range b.Experts {
		var rows atomic.Int64
		m := e.Expert.(*imageClassifier).model
		m.session = countingRunner{m.session, &rows}
		if _, err := e.Predict(t.Context(), batch, shown); err != nil {
			t.Fatal(err)
		}
		if got := rows.Load(); got != 10*10 {
			t.Errorf("expert %q: %d rows forwarded, want 10 views of 10 images", e.Name, got)
		}
	}
}
