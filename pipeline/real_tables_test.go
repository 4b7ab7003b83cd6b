package pipeline_test

import (
	"context"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/eval"
	"pipe/pipeline/imports"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// realTable imports one of the configured outcome tables. If the data is missing, it skips the test, or under CI fails
// it.
func realTable(t *testing.T, config string) *costs.Tensor {
	t.Helper()
	t.Setenv("PIPE_DATA", filepath.Dir(realdata.Folder(t, "outcomes")))
	out := filepath.Join(t.TempDir(), "costs.parquet")
	if _, err := imports.Run(context.Background(), imports.Options{Config: storage.File(filepath.Join("..", "configs", config)), Out: storage.File(out)}, nil); err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

// autoRow trains the auto recipe on a table and evaluates it.
func autoRow(t *testing.T, tensor *costs.Tensor) map[string]report.Row {
	t.Helper()
	rt := orttest.Open(t, 1)
	c := train.DefaultSettings()
	c.Seeds = 2
	policies, _, err := train.Policies(context.Background(), rt, tensor, c, models.CheckpointPolicy{}, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	r, err := eval.Policies(context.Background(), rt, tensor, policies, eval.DefaultOptions(), stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]report.Row{}
	for _, row := range r.Rows {
		rows[row.Method] = row
		t.Logf("%-28s %.4f", row.Method, row.TrueLossMean)
	}
	return rows
}

// TestAutoOnRealTables: if the constant is optimal, auto must not lose to it; if routing pays, auto must beat it
// clearly and be about as good as knn.
func TestAutoOnRealTables(t *testing.T) {
	if testing.Short() {
		t.Skip("searches over three real tables")
	}
	for _, c := range []struct {
		config string
		gain   float64 // least gain over best_fixed; negative: largest loss
	}{
		{"import-cifar10.yaml", -0.005},
		{"import-frugalml-ferplus.yaml", 0.054},
		{"import-frugalml-yelp.yaml", 0.021},
	} {
		t.Run(c.config, func(t *testing.T) {
			rows := autoRow(t, realTable(t, c.config))
			auto, fixed, knn := rows["auto"].TrueLossMean, rows["best_fixed"].TrueLossMean, rows["knn"].TrueLossMean
			if fixed-auto < c.gain {
				t.Errorf("auto %.4f, best fixed pair %.4f: gain below %g", auto, fixed, c.gain)
			}
			if auto > knn+0.005 {
				t.Errorf("auto %.4f is worse than nearest neighbours, %.4f", auto, knn)
			}
		})
	}
}
