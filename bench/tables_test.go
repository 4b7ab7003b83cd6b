package bench

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models/baseline"
	"pipe/models/lightgbm"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// tablesOf writes two tables of a known law, the second one without pairs that need no advice, and their configuration.
func tablesOf(t *testing.T, more string) (file string) {
	t.Helper()
	dir := t.TempDir()
	tensor := world.SyntheticTensor(1000, costs.Train, 1, true)
	if err := costs.Write(t.Context(), storage.File(filepath.Join(dir, "plain.parquet")), tensor); err != nil {
		t.Fatal(err)
	}
	advised := tensor.Subset(tensor.Rows(costs.Train))
	actions := *tensor.Actions
	advised.Actions = &actions
	for j := range actions.Experts {
		actions.Unavailable = append(actions.Unavailable, costs.Pair{Expert: j})
		for n := range advised.Len() {
			advised.Loss[n*actions.Len()+actions.Index(j, 0)] = float32(math.NaN())
		}
	}
	if err := costs.Write(t.Context(), storage.File(filepath.Join(dir, "advised.parquet")), advised); err != nil {
		t.Fatal(err)
	}
	text := `splits: 2
tables: [{name: plain, tensor: plain.parquet}, {name: advised, tensor: advised.parquet}]
train:
  auto: {networks: [{hidden: [16], learning_rate: 0.01, weight_decay: 0.001}], neighbours: [30], steps: 400, seeds: 1, folds: 2}
  paper: {seeds: 2, learning_rate: 0.01, network: {hidden: [32, 32], epochs: 30, batch: 32}}
` + more
	file = filepath.Join(dir, "tables.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func runOn(t *testing.T, o Options) (*report.Report, []string) {
	t.Helper()
	var said []string
	o.Runtime, o.Say = ort.DefaultConfig(), func(remark string) { said = append(said, remark) }
	r, err := Run(t.Context(), "tables", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	return r, said
}

func rowOf(t *testing.T, r *report.Report, setting, method string) report.Row {
	t.Helper()
	i := slices.IndexFunc(r.Rows, func(row report.Row) bool { return row.Setting == setting && row.Method == method })
	if i < 0 {
		t.Fatalf("%s has no %s", setting, method)
	}
	return r.Rows[i]
}

// TestTables: methods find planted structure, the bounds are the bounds, a method that fails is left out, and a second
// run repeats nothing.
func TestTables(t *testing.T) {
	t.Setenv("LIGHTGBM_LIB", filepath.Join(t.TempDir(), "none"))
	file, out := tablesOf(t, ""), t.TempDir()
	r, said := runOn(t, Options{Config: file, Out: out})
	if len(said) != 7 { // four splits, l2d once and boosted_trees twice
		t.Errorf("said %q", said)
	}
	for _, setting := range []string{"plain", "advised", "sum of 2 tables"} {
		constant, floor := rowOf(t, r, setting, baseline.BestFixedTrain), rowOf(t, r, setting, oracle)
		if *constant.GapShare != 0 || *floor.GapShare != 1 {
			t.Errorf("%s: the bounds close %v and %v of the gap", setting, *constant.GapShare, *floor.GapShare)
		}
		for _, row := range r.Rows {
			if row.Setting == setting && row.TrueLossMean < floor.TrueLossMean {
				t.Errorf("%s: %s is below the oracle", setting, row.Method)
			}
		}
		if row := rowOf(t, r, setting, methods.KNN20); !(row.DiffAuto.Low < row.DiffAuto.Mean && row.DiffAuto.Mean < row.DiffAuto.High) ||
			math.Abs(row.DiffAuto.Mean-(row.TrueLossMean-rowOf(t, r, setting, "auto").TrueLossMean)) > 1e-12 {
			t.Errorf("%s: knn_20 minus auto is %+v", setting, row.DiffAuto)
		}
	}
	constant := rowOf(t, r, "plain", baseline.BestFixedTrain).TrueLossMean
	for _, method := range []string{"auto", "ours", methods.KNN20} {
		if row := rowOf(t, r, "plain", method); row.TrueLossMean > constant-0.02 {
			t.Errorf("%s has %.3f, the constant %.3f", method, row.TrueLossMean, constant)
		}
	}
	if row := rowOf(t, r, "plain", methods.Shuffled); row.TrueLossMean < rowOf(t, r, "plain", "auto").TrueLossMean+0.02 {
		t.Errorf("shuffled decisions have %.3f", row.TrueLossMean)
	}
	left := func(row report.Row) bool { return row.Method == "l2d" && row.Setting != "plain" }
	if slices.ContainsFunc(r.Rows, left) || !strings.Contains(strings.Join(r.Notes, "\n"), "l2d is left out on advised: ") {
		t.Errorf("l2d is not left out: %q", r.Notes)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "boosted_trees is left out on plain, advised: the LightGBM library was not found") {
		t.Errorf("boosted_trees are not left out: %q", r.Notes)
	}
	again, said := runOn(t, Options{Config: file, Out: out})
	for i := range again.Rows {
		if again.Rows[i].TrueLossMean != r.Rows[i].TrueLossMean || *again.Rows[i].Seconds != *r.Rows[i].Seconds {
			t.Errorf("%+v is now %+v", r.Rows[i], again.Rows[i])
		}
	}
	if ran := slices.DeleteFunc(said, func(s string) bool { return strings.Contains(s, "left out") }); len(ran) > 0 {
		t.Errorf("ran again: %q", ran)
	}
	_, said = runOn(t, Options{Config: file, Out: out, Tables: []string{"plain"}, Methods: []string{methods.KNN20}, Restart: true})
	if len(said) != 2 || !strings.Contains(said[0], "knn_20") || strings.Contains(said[0], "auto") {
		t.Errorf("restarted: %q", said)
	}
}

// TestAutoByJudgement: on a table of few feature vectors, auto learns what they say where losses tell or the rows are said to
// be different instances. Where they are said to be copies it exports the constant, and its two rivals do not.
func TestAutoByJudgement(t *testing.T) {
	tensor := world.SyntheticTensor(1200, costs.Train, 1, true)
	r := rand.New(rand.NewPCG(4, 4))
	for n := range tensor.Len() {
		clear(tensor.Row(n))
		tensor.Row(n)[0] = float32(n % 3)
		for pair := range tensor.Losses(n) {
			loss := float32(0)
			if r.Float64() < 0.1+0.6*float64((n%3+pair)%2) {
				loss = 1
			}
			tensor.Losses(n)[pair] = loss
		}
	}
	file, names := tablesOf(t, ""), []string{"auto", methods.AutoDefault, methods.AutoApart}
	if err := costs.Write(t.Context(), storage.File(filepath.Join(filepath.Dir(file), "cells.parquet")), tensor); err != nil {
		t.Fatal(err)
	}
	text := `splits: 1
tables: [{name: apart, tensor: cells.parquet, apart: true}, {name: unsaid, tensor: cells.parquet}, {name: copies, tensor: cells.parquet, apart: false}]
train: {auto: {networks: [], ridge: [10], neighbours: [20, 100], seeds: 1}}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	rep, _ := runOn(t, Options{Config: file, Methods: names})
	for _, setting := range []string{"apart", "unsaid", "copies"} {
		constant := rowOf(t, rep, setting, baseline.BestFixedTrain).TrueLossMean
		for _, name := range names {
			row := rowOf(t, rep, setting, name)
			if fixed := setting == "copies" && name == "auto"; (row.Fallback != nil) != fixed || setting != "copies" && row.TrueLossMean > constant-0.1 {
				t.Errorf("%s: %s has %.4f, the constant %.4f; fallback %v", setting, name, row.TrueLossMean, constant, row.Fallback)
			}
			if same := map[string]string{"apart": methods.AutoApart, "unsaid": methods.AutoDefault}[setting]; name == same && *row.Seconds != *rowOf(t, rep, setting, "auto").Seconds {
				t.Errorf("%s: %s took %g s, which is not the time of auto", setting, name, *row.Seconds)
			}
		}
	}
}

// TestTablesWithoutTheirTrees: if the recipe is to use trees, their absent library ends the benchmark.
func TestTablesWithoutTheirTrees(t *testing.T) {
	lightgbmtest.Absent(t)
	file := tablesOf(t, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "auto: {", "auto: {trees: [20], ", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), "tables", Options{Config: file, Runtime: ort.DefaultConfig()}, stage.Quiet)
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "table plain") {
		t.Error(err)
	}
}

// TestShuffledKeepsShares: the control decides each pair as often as the router.
func TestShuffledKeepsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 3), 7, 7), 1, 3).Draw(t, "runs")
		x := &tableSplit{tablesRun: &tablesRun{c: &tablesConfig{}}, decided: map[string]*decisions{"auto": {Runs: runs}}}
		d, err := decideShuffled(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		for n, run := range d.Runs {
			if got, want := slices.Sorted(slices.Values(run)), slices.Sorted(slices.Values(runs[n%len(runs)])); !slices.Equal(got, want) {
				t.Fatalf("shares of %v are those of %v", got, want)
			}
		}
	})
}

// TestPairedIntervals: a method minus itself is zero, swapping two methods changes the sign, and decisions on one row in
// several splits are no more evidence than one.
func TestPairedIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 60
	a, b := heldCosts{nil}, heldCosts{nil}
	rows := [][]int{nil}
	for i := range n {
		a[0], b[0], rows[0] = append(a[0], r.Float64()), append(b[0], r.Float64()), append(rows[0], i)
	}
	interval := func(a, b heldCosts, rows [][]int, together costs.Clusters) report.Interval {
		t.Helper()
		v, err := pairedInterval(a, b, rows, together)
		if err != nil || v == nil {
			t.Fatal(v, err)
		}
		return *v
	}
	alone := costs.NewClusters(n)
	if v := interval(a, a, rows, alone); v != (report.Interval{}) {
		t.Errorf("a method minus itself is %+v", v)
	}
	ab, ba := interval(a, b, rows, alone), interval(b, a, rows, alone)
	if math.Abs(ab.Mean+ba.Mean)+math.Abs(ab.Low+ba.High)+math.Abs(ab.High+ba.Low) > 1e-12 {
		t.Errorf("%+v and %+v", ab, ba)
	}
	twice := func(h heldCosts) heldCosts { return heldCosts{h[0], h[0]} }
	if v := interval(twice(a), twice(b), [][]int{rows[0], rows[0]}, alone); math.Abs(v.Low-ab.Low)+math.Abs(v.High-ab.High) > 1e-12 {
		t.Errorf("the same split twice gives %+v, once %+v", v, ab)
	}
	halves := make([]int, n) // the methods differ by half
	for i := range halves {
		halves[i] = i / 30
		a[0][i] += float64(halves[i])
	}
	if v, rowwise := interval(a, b, rows, costs.NewClusters(n, halves)), interval(a, b, rows, alone); v.High-v.Low < 2*(rowwise.High-rowwise.Low) {
		t.Errorf("two clusters give %+v, %d rows %+v", v, n, rowwise)
	}
	if v, err := pairedInterval(a, b, rows, costs.NewClusters(n, make([]int, n))); v != nil || err != nil {
		t.Errorf("one cluster gives %+v, %v", v, err)
	}
	sum := sumRows([]report.Row{
		{TrueLossMean: 1, TrueLossSE: new(3.0), Seconds: new(1.0), DiffAuto: &report.Interval{Mean: 1, Low: -2, High: 4}},
		{TrueLossMean: 2, TrueLossSE: new(4.0), Seconds: new(2.0), DiffAuto: &report.Interval{Mean: -2, Low: -6, High: 2}},
	})
	if sum.TrueLossMean != 3 || *sum.TrueLossSE != 5 || *sum.Seconds != 3 || *sum.DiffAuto != (report.Interval{Mean: -1, Low: -6, High: 4}) {
		t.Errorf("the sum is %+v", sum)
	}
}

// TestTableSplits: rows that belong together stay on one side, the share is held, and another draw is another split.
func TestTableSplits(t *testing.T) {
	tensor := world.SyntheticTensor(300, costs.Train, 1, true)
	for n := range tensor.Len() {
		tensor.Groups = append(tensor.Groups, fmt.Sprint(n/3))
	}
	c := defaultTables()
	r := &tablesRun{c: &c}
	var first []int
	for draw := range 3 {
		x, err := newTableSplit(r, tableConfig{Name: "t"}, tensor, (&tableConfig{}).together(tensor), draw)
		if err != nil {
			t.Fatal(err)
		}
		if features, group := x.t.Shared(x.held, x.train, nil); features+group > 0 || len(x.held) != 75 || len(x.train) != 225 {
			t.Errorf("%d held-out rows, %d training rows, %d and %d shared", len(x.held), len(x.train), features, group)
		}
		if draw > 0 && slices.Equal(first, x.held) {
			t.Error("two draws are the same split")
		}
		first = x.held
	}
	if tensor.Rows(costs.Train)[299] != 299 {
		t.Error("the split of the table itself has changed")
	}
	for n := range tensor.Features {
		tensor.Features[n] = 1
	}
	for apart, want := range map[bool]int{true: 100, false: 1} {
		if got := (&tableConfig{Apart: &apart}).together(tensor).Len(); got != want {
			t.Errorf("apart %v: %d sets of rows with the same features, want %d", apart, got, want)
		}
	}
	if got := (&tableConfig{}).together(tensor).Len(); got != 1 {
		t.Errorf("%d sets of rows with the same features", got)
	}
}

// TestTablesConfig: problems are reported together, and imports are files or written inline.
func TestTablesConfig(t *testing.T) {
	read := func(text string) (tablesConfig, []string) {
		c := defaultTables()
		return c, config.Decode([]byte(text), storage.File("/dir"), variables(), &c)
	}
	_, problems := read("{splits: 0, held_out: 1, lambda: -1, methods: [auto_shuffled, x, x], tables: [{name: a/b}, {name: a, tensor: t, import: {outcomes: {file: f}}}, {name: A}]}")
	for _, want := range []string{
		"splits: 0", "held_out: 1", "lambda: -1", `methods[1]: "x", known are`, `methods[2]: "x" is a duplicate`, "auto_shuffled needs the decisions of auto",
		`tables[0].name: "a/b"`, "tables[0].neither tensor nor import", "tables[1].tensor and import exclude", "tables[1].import.outcomes.columns.id is empty", `tables[2]: duplicate name "A"`,
	} {
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%q is not in %q", want, problems)
		}
	}
	c := defaultTables()
	problems = config.Decode([]byte(`{tables: [{name: a, import: i.yaml}, {name: b, import: {
		outcomes: {file: f, columns: {id: i, expert: e, loss: l}}, features: [{file: g, id: i, columns: [x]}]}}]}`), storage.File("/dir"), variables(), &c)
	if len(problems) > 0 || c.Tables[0].Import.File != "/dir/i.yaml" {
		t.Fatalf("%+v, %q", c.Tables, problems)
	}
	cfg, err := c.Tables[1].Import.load(t.Context(), "/dir")
	if err != nil || cfg.Outcomes.File.String() != "/dir/f" || cfg.Features[0].File.String() != "/dir/g" || cfg.Split.Validation != 0.25 {
		t.Errorf("%+v, %v", cfg, err)
	}
	if err := c.choose([]string{"c"}, nil); err == nil || !strings.Contains(err.Error(), `there is no table "c"; the configuration has a, b`) {
		t.Error(err)
	}
	if err := c.choose([]string{"b"}, []string{"auto", methods.KNN100}); err != nil || len(c.Tables) != 1 || len(c.methods()) != 4 {
		t.Errorf("%v, %d tables, %d methods", err, len(c.Tables), len(c.methods()))
	}
	if _, err := Run(t.Context(), "synthetic", Options{Methods: []string{"auto"}}, nil); err == nil || !strings.Contains(err.Error(), "no choice") {
		t.Error(err)
	}
}

// TestTreesAsPeers: the boosted trees find planted structure, also where some pairs are unavailable.
func TestTreesAsPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTables runs the same code without trees")
	}
	lightgbmtest.Open(t)
	r, _ := runOn(t, Options{Config: tablesOf(t, ""), Methods: []string{methods.BoostedTrees}})
	for _, table := range []string{"plain", "advised"} {
		if got := *rowOf(t, r, table, methods.BoostedTrees).GapShare; got < 0.05 || got > 1 {
			t.Errorf("%s: the trees close %.2f of the gap", table, got)
		}
	}
}
