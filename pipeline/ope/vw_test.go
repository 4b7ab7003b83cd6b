package ope

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/fromlog"
)

// readByVW has Vowpal Wabbit parse every line of a DSJSON file, and prints for a pair: lines, and the inverse propensity estimate of always
// choosing it, by the costs, probabilities and actions that Vowpal Wabbit found.
const readByVW = `
import sys, vowpalwabbit
vw = vowpalwabbit.Workspace("--cb_explore_adf --dsjson --quiet")
lines, sums = 0, {pair: 0.0 for pair in sys.argv[2:]}
for line in open(sys.argv[1]):
    examples = vw.parse(line, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
    labelled = [e for e in examples[1:] if e.get_cbandits_num_costs() > 0]  # the first one is what all actions share
    if len(labelled) != 1 or labelled[0].get_cbandits_num_costs() != 1:
        sys.exit("not one action with a label: " + line)
    e = labelled[0]
    if e.get_tag() in sums:
        sums[e.get_tag()] += e.get_cbandits_cost(0) / e.get_cbandits_probability(0)
    vw.finish_example(examples)
    lines += 1
print(lines, *(sums[pair] / lines for pair in sys.argv[2:]))
`

// vowpalWabbit is a Python that has it: $PIPE_VW, or that of the other judges.
func vowpalWabbit(t *testing.T) string {
	if python := os.Getenv("PIPE_VW"); python != "" {
		return python
	}
	return judge.Python(t, "vowpalwabbit")
}

// Vowpal Wabbit reads the DSJSON of a log, and finds the same inverse propensity estimates in it as pipe ope in the log: with a canary, with
// pairs that were not available, with outcomes that are missing. It reads float32.
func TestVowpalWabbitReadsTheSame(t *testing.T) {
	python := vowpalWabbit(t)
	w := newWorld(7)
	w.share = 0.3
	w.change = func(n int, r *decisionlog.Record, o *decisionlog.Outcome) {
		switch {
		case n%7 == 3:
			o.ID = ""
		case n%5 == 1 && r.Action != 3: // a pair is not available: the others have its probability
			r.Available = []bool{true, true, true, false}
			rest := 1 - r.Propensity[3]
			own := 1 - r.OwnPropensity[3]
			r.Propensity = []float64{r.Propensity[0] / rest, r.Propensity[1] / rest, r.Propensity[2] / rest, 0}
			r.OwnPropensity = []float64{r.OwnPropensity[0] / own, r.OwnPropensity[1] / own, r.OwnPropensity[2] / own, 0}
		}
	}
	folder := w.log(t, 2000)
	o := fromlog.DefaultOptions()
	o.Log, o.DSJSON = folder, storage.File(filepath.Join(t.TempDir(), "log.dsjson"))
	if _, err := fromlog.Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	pairs := []string{"small/none", "small/search", "large/none"} // large/search was not always available
	found := strings.Fields(judge.Run(t, python, "", readByVW, append([]string{o.DSJSON.String()}, pairs...)...))
	if len(found) != 1+len(pairs) {
		t.Fatal(found)
	}
	for i, pair := range pairs {
		own := DefaultOptions()
		own.Log, own.Policy, own.Resamples, own.Estimator = folder, "pair:"+pair, 100, "ips"
		r, err := Run(t.Context(), own, nil)
		if err != nil {
			t.Fatal(err)
		}
		var theirs float64
		if _, err := fmt.Sscan(found[1+i], &theirs); err != nil {
			t.Fatal(err, found)
		}
		ours := r.Estimates[0]
		t.Logf("%s: %v rows, %.9f, Vowpal Wabbit %s", pair, r.Rows, ours.Policy.Mean, found[1+i])
		if ours.Name != "ips" || found[0] != fmt.Sprint(r.Rows) || math.Abs(ours.Policy.Mean-theirs) > 1e-6*math.Abs(theirs) {
			t.Errorf("%s: %s of %s lines, and %s %v of %d rows", pair, found[1+i], found[0], ours.Name, ours.Policy.Mean, r.Rows)
		}
	}
}
