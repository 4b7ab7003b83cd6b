package bench

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models/lightgbm"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// smallFraud is a benchmark on a planted world that takes seconds: two experts, two splits, both settings.
const smallFraud = `
fraud:
  data: {generate: {world: planted, rows: 900, seed: 3, columns: 55}}
  columns: COLUMNS
  split: {kind: stratified, train_rows: 600, validation_rows: 200, draws: 2}
  resamples: 50
  shard: 256
  experts:
    - {name: linear, fee: 0.02, kind: logistic, epochs: 3}
    - {name: mlp, fee: 0.09, kind: mlp, epochs: 2}
  settings:
    - name: paper
      cross_fit: 0
      train: {recipe: paper, lambdas: [0, 5], seeds: 2, network: {hidden: [8], epochs: 3, batch: 128}}
    - name: own
      cross_fit: 2
      task_loss: {kind: weighted}
      train:
        recipe: auto
        lambdas: [0, 5]
        seeds: 2
        network: {hidden: [8], epochs: 3, batch: 128}
        auto: {steps: 40, folds: 2, seeds: 1, networks: []}
`

// writeFraudConfig writes a configuration whose column groups are those of the project.
func writeFraudConfig(t *testing.T, text string) string {
	t.Helper()
	columns, err := filepath.Abs(filepath.Join("..", "configs", "fraud-columns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fraud.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "COLUMNS", columns)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFraudEndToEnd(t *testing.T) {
	o := Options{Config: writeFraudConfig(t, smallFraud), Out: t.TempDir(), Runtime: orttest.OneThread(t)}
	r, err := Run(t.Context(), "fraud", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.SettingNames(); !cmp.Equal(got, []string{"paper", "own"}) {
		t.Fatalf("settings %v", got)
	}
	checkFraudRows(t, r)
	checkFraudSections(t, r)
	t.Run("decide raw rows", func(t *testing.T) { decideRaw(t, o) })
	if testing.Short() {
		return // each of the others does the same work again, most of it pictures
	}
	t.Run("again", func(t *testing.T) {
		before := treeOf(t, o.Out)
		again, err := Run(t.Context(), "fraud", o, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, treeOf(t, o.Out)); diff != "" {
			t.Errorf("files change when nothing is to be done:\n%s", diff)
		}
		var first, second bytes.Buffer
		if err := errors.Join(r.WriteJSON(&first), again.WriteJSON(&second)); err != nil || first.String() != second.String() {
			t.Errorf("reports differ (%v)", err)
		}
	})
	t.Run("a policy of another run", func(t *testing.T) { evaluateBeside(t, o, r) })
	t.Run("stopped again and again", func(t *testing.T) { stopAndGoOn(t, o) })
}

// evaluateBeside puts a policy into the folder that no step of the run has made, and evaluates again.
func evaluateBeside(t *testing.T, o Options, want *report.Report) {
	split := filepath.Join(o.Out, "split0")
	text, err := os.ReadFile(filepath.Join(split, "policies-paper", "ours-lambda0-seed0.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(split, "policies-paper", "ours-lambda0-seed9.onnx")
	if err := errors.Join(os.WriteFile(stray, text, 0o666), os.Remove(filepath.Join(split, "eval-paper.json"))); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(stray)
	r, err := Run(t.Context(), "fraud", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := errors.Join(want.WriteJSON(&first), r.WriteJSON(&second)); err != nil || first.String() != second.String() {
		t.Errorf("a policy that the run did not train is in its report (%v)", err)
	}
}

// TestLawIsThatOfItsLevels: the law does not apply to a level with the same name that opens other groups.
func TestLawIsThatOfItsLevels(t *testing.T) {
	r := &fraudRun{c: defaultFraud()}
	r.c.Data.Generate = &fraudMade{World: world.FraudPlanted, FraudRate: world.FraudRate}
	if r.law(r.c.actions(), r.c.Settings[0]) == nil {
		t.Error("the paper's levels have no law")
	}
	r.c.Advice[1].Through = "identity"
	if r.law(r.c.actions(), r.c.Settings[0]) != nil {
		t.Error("a level that opens everything has the law of one that opens contact")
	}
}

// checkFraudRows checks properties of the report's rows that must hold.
func checkFraudRows(t *testing.T, r *report.Report) {
	t.Helper()
	rows := map[report.RowKey]report.Row{}
	for _, row := range r.Rows {
		rows[row.Key()] = row
		if row.Splits != 2 || row.TrueLossSE == nil || row.N != 600 {
			t.Errorf("row %+v", row)
		}
	}
	for setting, learned := range map[string]string{"paper": "ours", "own": "auto"} {
		for _, lambda := range []float64{0, 5} {
			for _, method := range []string{learned, "l2d", "knn", "best_fixed", "best_fixed_train", methods.AlwaysLegitimate, "random_pair", "oracle", "bayes"} {
				row, ok := rows[report.RowKey{Setting: setting, Method: method, Lambda: lambda}]
				if !ok {
					t.Errorf("%s has no row of %s at lambda %g", setting, method, lambda)
				}
				if oracle := rows[report.RowKey{Setting: setting, Method: "oracle", Lambda: lambda}]; method != methods.AlwaysLegitimate && row.TrueLossMean < oracle.TrueLossMean-1e-9 {
					t.Errorf("%s %s at lambda %g: %v is below the oracle's %v", setting, method, lambda, row.TrueLossMean, oracle.TrueLossMean)
				}
			}
			legitimate := rows[report.RowKey{Setting: setting, Method: methods.AlwaysLegitimate, Lambda: lambda}]
			if math.Abs(legitimate.TrueLossMean-0.5) > 0.05 { // the world is balanced
				t.Errorf("%s: always legitimate costs %v", setting, legitimate.TrueLossMean)
			}
		}
	}
}

func checkFraudSections(t *testing.T, r *report.Report) {
	t.Helper()
	opened := map[string]bool{}
	for _, d := range r.Disclosure {
		opened[d.Group] = true
		if d.Opened < 0 || d.Opened > 1 || d.Opened > 0 != (d.Gross != nil) || d.Without == nil {
			t.Errorf("disclosure %+v", d)
		}
	}
	if len(opened) != 4 || opened["base"] {
		t.Errorf("sensitive groups %v", opened)
	}
	if want := 2 * 2 * 5; len(r.Experts) != want { // settings, experts, advice
		t.Errorf("%d lines about experts, want %d", len(r.Experts), want)
	}
	for _, q := range r.Experts {
		if q.Accuracy == nil || q.AUC == nil || *q.AUC < 0.2 || *q.AUC > 1 {
			t.Errorf("expert %+v", q)
		}
	}
	text := strings.Join(r.Notes, "\n")
	for _, want := range []string{"900 rows read; each split has 600 training rows (47.67% positive) and 200 validation rows", "minus the known optimum", "guard of auto"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notes do not say %q:\n%s", want, text)
		}
	}
}

// decideRaw decides on the raw file and on the tensor's features: the decisions are the same.
func decideRaw(t *testing.T, o Options) {
	split := filepath.Join(o.Out, "split0")
	policy := filepath.Join(split, "policies-paper", "ours-lambda0-seed0.onnx")
	choose := func(d decide.StreamOptions) map[string]string {
		t.Helper()
		d.Policy, d.Out = storage.File(policy), storage.File(filepath.Join(t.TempDir(), "out.csv"))
		d.InFormat, d.OutFormat, d.Workers = "auto", "auto", 2
		if _, err := decide.Stream(t.Context(), orttest.Open(t, 1), d, nil, nil, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(d.Out.String())
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]string{}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			id, decision, _ := strings.Cut(line, ",")
			rows[id] = decision
		}
		return rows
	}
	raw := choose(decide.StreamOptions{In: storage.File(filepath.Join(o.Out, "data", "train_transaction.csv")), Encoder: filepath.Join(split, "encoder.json")})
	features := choose(decide.StreamOptions{In: storage.File(filepath.Join(split, "costs-paper.parquet"))})
	if len(raw) != 900 || len(features) != 800 {
		t.Fatalf("%d raw rows, %d rows of the tensor", len(raw), len(features))
	}
	for id, want := range features {
		if raw[id] != want {
			t.Errorf("row %s: raw %q, featurized %q", id, raw[id], want)
		}
	}
	t.Run("bad rows", func(t *testing.T) { decideBadRows(t, policy, split) })
	t.Run("another encoder", func(t *testing.T) {
		_, err := decideText(t, policy, filepath.Join(o.Out, "split1", "encoder.json"), "")
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), "another encoder") {
			t.Errorf("error %v", err)
		}
	})
}

// decideText decides on raw rows from standard input.
func decideText(t *testing.T, policy, encoder, rows string) (*decide.Summary, error) {
	t.Helper()
	d := decide.StreamOptions{Policy: storage.File(policy), In: storage.File("-"), Out: storage.File("-"), InFormat: "auto", OutFormat: "csv", Workers: 1, Encoder: encoder}
	return decide.Stream(t.Context(), orttest.Open(t, 1), d, strings.NewReader(rows), &bytes.Buffer{}, stage.Quiet)
}

// decideBadRows: every fault is an error with its place; gaps, unknown categories and absent columns are not faults.
func decideBadRows(t *testing.T, policy, split string) {
	encoder := filepath.Join(split, "encoder.json")
	for rows, want := range map[string]string{
		"": "is empty",
		"TransactionID,ProductCD,TransactionAmt\n":                     "has no rows",
		"TransactionID,colour\n1,red\n":                                "has none of the",
		"TransactionID,ProductCD,ProductCD\n1,W,W\n":                   "row 1: column ProductCD: is a duplicate",
		"TransactionID,ProductCD,TransactionAmt\n1,W,10\n2,W,ten\n":    "row 3: column TransactionAmt: ",
		"TransactionID,ProductCD,TransactionAmt\n1,W,10\n2,W\n":        "row 3: column TransactionAmt: the row has 2 fields, the header 3",
		"TransactionID,ProductCD,TransactionAmt\n1,\"W,10\n2,W,11\n":   "row ",
		"TransactionID,ProductCD,TransactionAmt\n1,W,10\n2,W,1e400\n":  "row 3: column TransactionAmt: ",
		"\ufeffTransactionID,ProductCD,TransactionAmt\n1,W,10\n,W,x\n": "row 3: column TransactionAmt: ",
	} {
		_, err := decideText(t, policy, encoder, rows)
		var data *costs.DataError
		if !errors.As(err, &data) || data.File != "standard input" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", rows, err, want)
		}
	}
	done, err := decideText(t, policy, encoder, "TransactionAmt,ProductCD,TransactionID,more\n,never seen,1,\n12,,2,x\n")
	if err != nil || done.Rows != 2 || len(done.Absent) == 0 {
		t.Errorf("gaps and unknown categories: %+v, %v", done, err)
	}
}

// stopper is a stage.Progress that ends a context after a number of reports.
type stopper struct {
	left   atomic.Int64
	cancel context.CancelFunc
}

func (s *stopper) Start(int64, string) { s.Add(1) }
func (s *stopper) Done()               {}
func (s *stopper) Note(string, ...any) {}
func (s *stopper) Add(int64) {
	if s.left.Add(-1) == 0 {
		s.cancel()
	}
}

// stopAndGoOn runs the benchmark into a new folder, stops it after more and more steps, and compares the files of the
// last run with those of an undisturbed one.
func stopAndGoOn(t *testing.T, o Options) {
	whole := treeOf(t, o.Out)
	o.Out = t.TempDir()
	for steps := 3; ; steps += steps {
		ctx, cancel := context.WithCancel(t.Context())
		p := &stopper{cancel: cancel}
		p.left.Store(int64(steps))
		_, err := Run(ctx, "fraud", o, p)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(whole, treeOf(t, o.Out)); diff != "" {
		t.Errorf("files (-undisturbed +stopped):\n%s", diff)
	}
}

// treeOf maps every file below a folder to its digest, except locks.
func treeOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		tree[below(folder, path)], err = costs.FileDigest(context.Background(), storage.File(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestFraudWithoutLightGBM: the trees are left out, and the report says so; if there are only trees, the missing
// library is the error.
func TestFraudWithoutLightGBM(t *testing.T) {
	if testing.Short() {
		t.Skip("TestFraudEndToEnd runs the same code with trees")
	}
	t.Setenv(lightgbm.EnvLibrary, filepath.Join(t.TempDir(), "absent"))
	cfg := orttest.OneThread(t)
	text := strings.Replace(smallFraud, "kind: mlp, epochs: 2", "kind: boosted_trees", 1)
	text = text[:strings.Index(text, "    - name: own")]
	var said []string
	o := Options{Config: writeFraudConfig(t, text), Runtime: cfg, Say: func(s string) { said = append(said, s) }}
	r, err := Run(t.Context(), "fraud", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "LightGBM") || !strings.Contains(strings.Join(r.Notes, "\n"), "LightGBM was not found") {
		t.Errorf("said %q, notes %q", said, r.Notes)
	}
	for _, q := range r.Experts {
		if q.Expert != "linear" {
			t.Errorf("expert %q answers", q.Expert)
		}
	}
	text = strings.Replace(text, "    - {name: linear, fee: 0.02, kind: logistic, epochs: 3}\n", "", 1)
	o.Config = writeFraudConfig(t, text)
	_, err = Run(t.Context(), "fraud", o, stage.Quiet)
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) {
		t.Errorf("with trees alone: %v", err)
	}
}
