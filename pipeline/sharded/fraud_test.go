package sharded

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/pipeline/features"
	"pipe/pipeline/shards"
)

// TestFraudInEightShards: the generated fraud table, with its second file, featurized in 8 shards is that of one run.
// PIPE_FRAUD_ROWS is the number of rows, 590540 as the competition had; 20,000 if it is not set.
func TestFraudInEightShards(t *testing.T) {
	w := world.DefaultFraudOptions()
	w.Out, w.Rows = storage.File(t.TempDir()), 20_000
	if testing.Short() {
		w.Rows = 9000
	}
	if text := os.Getenv("PIPE_FRAUD_ROWS"); text != "" {
		var err error
		if w.Rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := world.GenerateFraud(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
	o := features.DefaultOptions()
	o.Columns = storage.File("../../configs/fraud-columns.yaml")
	o.Primary, o.Joined = storage.File(filepath.Join(w.Out.String(), "train_transaction.csv")), storage.File(filepath.Join(w.Out.String(), "train_identity.csv"))
	j := job{
		name: "featurize", files: []string{"table.parquet", "encoder.json", "featurize.json", "featurize.stage.json"},
		open: func(out string, n int, work shards.Options) (first, second shards.Stage, err error) {
			o := o
			o.Out = storage.File(out)
			return Featurize(t.Context(), o, n, work, false, nil)
		},
	}
	one, many, work := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "many"), t.TempDir()
	o.Out = storage.File(one)
	if _, err := features.Run(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	if err := j.worker(context.Background(), work, many, len(all), all...); err != nil {
		t.Fatal(err)
	}
	if err := j.gather(t.Context(), work, many, len(all)); err != nil {
		t.Fatal(err)
	}
	j.same(t, one, many)
}
