package bench

import (
	"strings"
	"testing"

	"pipe/internal/realdata"
	"pipe/internal/world"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// runFraudConfig runs a configuration with a temporary folder of the test.
func runFraudConfig(t *testing.T, text string) *report.Report {
	t.Helper()
	o := Options{Config: writeFraudConfig(t, text), Out: t.TempDir(), Runtime: orttest.OneThread(t)}
	r, err := Run(t.Context(), "fraud", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFraudReachesTheOptimum trains on planted worlds and compares the policy with the best pair of every cell; the gap
// to L2D closes as lambda grows.
func TestFraudReachesTheOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for _, seed := range []string{"1", "7"} {
		r := runFraudConfig(t, strings.Replace(`
fraud:
  data: {generate: {world: planted, rows: 24000, seed: SEED, columns: 55}}
  columns: COLUMNS
  split: {kind: stratified, train_rows: 20000, validation_rows: 4000}
  knn: false
  resamples: 50
  experts:
    - {name: linear, fee: 0.02, kind: logistic, epochs: 8}
    - {name: tree, fee: 0.06, kind: boosted_trees, rounds: 40}
  settings:
    - name: cross
      cross_fit: 3
      train:
        recipe: auto
        seeds: 1
        auto:
          steps: 1000
          seeds: 2
          cross_fit: 1000 # one inner split
          networks: [{hidden: [64], dropout: 0.3, weight_decay: 0.3, learning_rate: 0.004}]
`, "SEED", seed, 1))
		gap := map[float64]float64{}
		for _, row := range r.Rows {
			switch {
			case row.Method == "l2d":
				gap[*row.Lambda] += row.TrueLossMean
			case row.Method == "auto":
				gap[*row.Lambda] -= row.TrueLossMean
				if *row.ExcessMean > 0.01 {
					t.Errorf("seed %s, lambda %g: %.4f above the optimum", seed, *row.Lambda, *row.ExcessMean)
				}
				t.Logf("seed %s, lambda %g: %.4f, %+.4f over the optimum", seed, *row.Lambda, row.TrueLossMean, *row.ExcessMean)
			}
		}
		last := 1.0
		for _, l := range world.FraudLambdas() {
			if gap[l] >= last {
				t.Errorf("seed %s, lambda %g: l2d is %.4f behind, %.4f at the lambda before", seed, l, gap[l], last)
			}
			last = gap[l]
		}
	}
}

// TestFraudWithoutStructure: if no column has information, auto exports a constant.
func TestFraudWithoutStructure(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures; TestFraudEndToEnd runs the same code in the short form")
	}
	r := runFraudConfig(t, `
fraud:
  data: {generate: {world: flat, rows: 2000, seed: 1, columns: 55}}
  columns: COLUMNS
  split: {kind: stratified, train_rows: 1500, validation_rows: 500}
  knn: false
  resamples: 50
  experts:
    - {name: linear, fee: 0.02, kind: logistic, epochs: 3}
    - {name: mlp, fee: 0.09, kind: mlp, epochs: 2}
  settings:
    - name: own
      cross_fit: 2
      task_loss: {kind: weighted}
      train:
        recipe: auto
        seeds: 1
        auto: {steps: 150, seeds: 2, networks: []}
`)
	for _, row := range r.Rows {
		if row.Method == "auto" && row.Pair == "" {
			t.Errorf("lambda %g: auto is not a constant", *row.Lambda)
		}
	}
}

// TestFraudOnGenuineRows runs one draw of the project's configuration, shortened, on genuine transactions.
func TestFraudOnGenuineRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Setenv("FRAUD_DATA", realdata.Folder(t, "ieee-cis"))
	r := runFraudConfig(t, `
fraud:
  data:
    transactions: ${FRAUD_DATA}/train_transaction_55cols_12000rows.csv
    identities: ${FRAUD_DATA}/train_identity.csv
  columns: COLUMNS
  split: {kind: stratified, train_rows: 9000, validation_rows: 3000}
  experts:
    - {name: linear, fee: 0.02, kind: logistic}
    - {name: tree, fee: 0.06, kind: boosted_trees}
  settings: [{name: paper, cross_fit: 0, train: {recipe: paper, seeds: 2}}]
`)
	rows := map[report.RowKey]report.Row{}
	for _, row := range r.Rows {
		rows[row.Key()] = row
	}
	at := func(method string, lambda float64) float64 {
		return rows[report.RowKey{Setting: "paper", Method: method, Lambda: lambda}].TrueLossMean
	}
	if l := at(methods.AlwaysLegitimate, 0); l < 0.03 || l > 0.037 {
		t.Errorf("always legitimate costs %v; 403 of 12,000 rows are frauds", l)
	}
	for _, l := range []float64{0, 0.04, 0.12} {
		if ours, fixed := at("ours", l), at("best_fixed_train", l); ours > fixed {
			t.Errorf("lambda %g: ours %.4f, the best pair for all %.4f", l, ours, fixed)
		}
	}
	text := strings.Join(r.Notes, "\n")
	if !strings.Contains(text, "12000 rows read") || !strings.Contains(text, "1495 identity rows belong to no transaction") {
		t.Errorf("notes:\n%s", text)
	}
}
