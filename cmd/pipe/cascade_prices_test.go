package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pipe/onnx/ort"
	"pipe/pipeline/report"
)

// surePairs are a table on which small is unsure where it is wrong, which its features do not tell.
const surePairs = `
outcomes:
  file: answers.csv
  columns: {id: request}
  wide:
    value: correct
    pairs:
      - {expert: small, column: small, observed: {confidence: sure}}
      - {expert: large, column: large, observed: {confidence: large_sure}}
fees: {experts: {small: 0.01, large: 0.15}}
features: [{id: request, columns: [length]}]
split: {validation: 0.25}
`

func sureAnswers(rows int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("request,length,small,sure,large,large_sure\n")
	for n := range rows {
		hard, small, large := rng.Float64() < 0.35, 0.97, 0.98
		sure := 0.85 + 0.1*rng.NormFloat64()
		if hard {
			small, large, sure = 0.3, 0.92, 0.5+0.1*rng.NormFloat64()
		}
		right := func(p float64) int {
			if rng.Float64() < p {
				return 1
			}
			return 0
		}
		fmt.Fprintf(&b, "r%d,%d,%d,%.2f,%d,0.9\n", n, rng.IntN(4000), right(small), sure, right(large))
	}
	return b.String()
}

// TestCascadesOfAnyPrice imports a table, trains one cascade for all prices, and plays it at some: a dearer large model is asked less. The
// file that pipe convert cuts at a price executes the same pairs, and the frontier of pipe eval has the same figures.
func TestCascadesOfAnyPrice(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, map[string]string{"answers.csv": sureAnswers(1600), "answers.yaml": surePairs, "train.yaml": "train: {methods: [], auto: {networks: [], neighbours: [50]}}\n"})
	runIn(t, folder, "import", "--config", "answers.yaml", "--out", "costs.parquet")
	out := runIn(t, folder, "train", "--in", "costs.parquet", "--cascade", "--any-price", "--config", "train.yaml", "--out", "policies")
	for _, want := range []string{"auto-any-price.onnx", "cascade-any-price.onnx", "cascade at any price (lambda 0 to 8, single fees times 0.25 to 4)", "it is exported", "smallest gain of a price"} {
		if !strings.Contains(out, want) {
			t.Fatalf("%q is missing in\n%s", want, out)
		}
	}
	cascade := filepath.Join("policies", "cascade-any-price.onnx")
	shares, executed := map[string]float64{}, map[string][]string{}
	for _, fee := range []float64{0.15, 0.05, 0.4, 2} {
		name := fmt.Sprint(fee)
		shares[name], executed[name] = playsAt(t, folder, cascade, fee, "--fee", "expert=large:"+name)
	}
	if !(shares["0.05"] > shares["0.15"] && shares["0.15"] > shares["0.4"] && shares["0.4"] > shares["2"]) || shares["2"] > 0.01 {
		t.Errorf("large follows on these shares of the rows, by its fee: %v", shares)
	}
	if _, own := playsAt(t, folder, cascade, 0.15); strings.Join(own, " ") != strings.Join(executed["0.15"], " ") {
		t.Error("without --fee it plays at other prices than those of its training")
	}
	if share, _ := playsAt(t, folder, cascade, 0.15, "--without", "expert=large"); share != 0 {
		t.Errorf("large, which is left out, follows on %g of the rows", share)
	}
	fails(t, folder, "knows nothing of what calls use", "decide", "--policy", cascade, "--in", "costs.parquet", "--prices", "train.yaml")

	runIn(t, folder, "convert", cascade, "--fee", "expert=large:0.4", "--out", "fixed.onnx")
	if _, fixed := playsAt(t, folder, "fixed.onnx", 0.15); strings.Join(fixed, " ") != strings.Join(executed["0.4"], " ") {
		t.Error("the file with fixed prices executes other pairs than the any-price cascade at these prices")
	}
	fails(t, folder, "the policy has fixed prices, those of lambda 1", "decide", "--policy", "fixed.onnx", "--in", "costs.parquet", "--fee", "expert=large:1")
	if out := runIn(t, folder, "inspect", cascade); !strings.Contains(out, "lambda and fees are inputs") || !strings.Contains(out, "executes one pair on") {
		t.Error(out)
	}
	if out := runIn(t, folder, "inspect", "fixed.onnx"); strings.Contains(out, "lambda and fees are inputs") || !strings.Contains(out, "large (fee 0.4)") {
		t.Error(out)
	}
	checkCascadeFrontier(t, runIn(t, folder, "eval", "--in", "costs.parquet", "--policy", "policies", "--knn=false", "--json"))
}

// playsAt plays a cascade through the table: on which share of the rows large follows small, and the executed pairs of each row. The fee of
// large is in what was paid.
func playsAt(t *testing.T, folder, file string, fee float64, args ...string) (share float64, executed []string) {
	t.Helper()
	out := runIn(t, folder, append([]string{"decide", "--policy", file, "--in", "costs.parquet"}, args...)...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1601 {
		t.Fatalf("%v, %d lines", err, len(rows))
	}
	at := map[string]int{}
	for c, name := range rows[0] {
		at[name] = c
	}
	for _, row := range rows[1:] {
		pairs, want := row[at["executed_1"]]+row[at["executed_2"]], 0.0
		if strings.Contains(pairs, "small/none") {
			want += 0.01
		}
		if strings.Contains(pairs, "large/none") {
			want += fee
		}
		if paid, err := strconv.ParseFloat(row[at["fees"]], 64); err != nil || math.Abs(paid-want) > 1e-9 {
			t.Fatalf("%v: fees %s, want %g", err, row[at["fees"]], want)
		}
		if pairs == "small/nonelarge/none" {
			share += 1.0 / 1600
		}
		executed = append(executed, pairs)
	}
	return share, executed
}

// checkCascadeFrontier: at every factor on all fees there are the policy and the cascade, and the cascade executes fewer pairs as fees rise.
func checkCascadeFrontier(t *testing.T, out string) {
	t.Helper()
	r, err := report.Read(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	last, points := 1.0, map[string]int{}
	for _, p := range r.Frontier {
		points[p.Method]++
		if p.Method != "any_price_cascade_2" {
			continue
		}
		if len(p.Share) != 2 || math.Abs(p.Share[0]+p.Share[1]-1) > 1e-9 || p.Own != "any_price" || p.Regret == nil || p.DiffConstant == nil {
			t.Errorf("%+v", p)
		}
		if *p.Scale > 0 { // without any fee all pairs are free
			if p.Share[1] > last {
				t.Errorf("at fees times %g two pairs on %g of the rows, after %g", *p.Scale, p.Share[1], last)
			}
			last = p.Share[1]
		}
	}
	if points["any_price_cascade_2"] != 7 || points["any_price"] != 7 || points["best_fixed_train"] != 7 || len(r.Cascades) != 1 || r.Cascades[0].Policy != "cascade-any-price.onnx" {
		t.Errorf("points %v, cascades %+v", points, r.Cascades)
	}
}

// fails runs the program, which must end with an error that says so.
func fails(t *testing.T, folder, want string, args ...string) {
	t.Helper()
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	p := start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), found) }, args...)
	if err := <-p.ended; err == nil || !strings.Contains(p.stderr.String(), want) {
		t.Errorf("pipe %s: %v\n%s", strings.Join(args, " "), err, p.stderr.String())
	}
}
