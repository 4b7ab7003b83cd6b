package offpolicy

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/judge"
)

var update = flag.Bool("update", false, "write testdata/openbandit.json with the Python that PIPE_OBP names")

// judged is a random log with the numbers that estimators need.
type judged struct {
	*Log
	Tuning
}

// drawJudged draws a small log: 20 rows or more of 2 to 6 pairs, some of which the log nearly never executes.
func drawJudged(seed uint64) judged {
	rng := rand.New(rand.NewPCG(seed, 17))
	l := &Log{Pairs: 2 + rng.IntN(5)}
	for range 20 + rng.IntN(30) {
		logged := distribution(rng, l.Pairs, 4)
		a := draw(rng, logged)
		l.Executed, l.Cost = append(l.Executed, a), append(l.Cost, rng.NormFloat64())
		l.Logged = append(l.Logged, logged...)
		l.Target = append(l.Target, distribution(rng, l.Pairs, 2)...)
		l.Baseline = append(l.Baseline, distribution(rng, l.Pairs, 1)...)
		for range l.Pairs {
			l.Estimates = append(l.Estimates, rng.NormFloat64())
		}
	}
	return judged{l, Tuning{Tau: 3 * rng.Float64(), Lambda: 10 * rng.Float64()}}
}

// distribution draws probabilities, the less even the larger the power.
func distribution(rng *rand.Rand, pairs int, power float64) []float64 {
	p, sum := make([]float64, pairs), 0.0
	for a := range p {
		p[a] = math.Pow(rng.Float64(), power) + 1e-4
		sum += p[a]
	}
	for a := range p {
		p[a] /= sum
	}
	return p
}

func draw(rng *rand.Rand, p []float64) int {
	u := rng.Float64()
	for a, v := range p {
		if u -= v; u < 0 {
			return a
		}
	}
	return len(p) - 1
}

// written saves logs for a script of Python.
func written(t *testing.T, logs int) string {
	t.Helper()
	var all []judged
	for seed := range uint64(logs) {
		all = append(all, drawJudged(seed))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "logs.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// verdict is what a judge says of a log.
type verdict struct {
	Target, Baseline map[string]float64
	MRDR             []float64 // weights of the fit
}

// compare checks the estimates of the judge's methods, and the gain, to 1e-9.
func (v verdict) compare(t *testing.T, seed uint64) {
	t.Helper()
	l := drawJudged(seed)
	for name, want := range v.Target {
		s := DefaultSettings()
		s.Estimator, s.Tuning, s.Interval = name, l.Tuning, IntervalNormal
		r, err := Estimate(l.Log, s)
		if err != nil {
			t.Fatal(err)
		}
		near(t, r.Target.Mean, want)
		near(t, r.Baseline.Mean, v.Baseline[name])
		near(t, r.Gain.Mean, v.Baseline[name]-want)
	}
	if v.MRDR == nil {
		return
	}
	weights, err := l.weights(WeightMRDR, 0, l.everyRow())
	if err != nil || len(weights) != len(v.MRDR) {
		t.Fatal(len(weights), len(v.MRDR), err)
	}
	mean := 0.0
	for _, w := range v.MRDR {
		mean += w / float64(len(v.MRDR))
	}
	for i, w := range v.MRDR {
		near(t, weights[i], w/mean)
	}
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Fatalf("%v instead of %v", got, want)
	}
}

// All estimators, and the weights of mrdr's fit, are those of Open Bandit Pipeline 0.5.7: on the logs of testdata/openbandit.json, which testdata/openbandit.py made; and
// on 1,000 logs where PIPE_OBP names a Python that has it.
func TestOpenBanditPipeline(t *testing.T) {
	logs, python := 20, os.Getenv("PIPE_OBP")
	text, err := os.ReadFile("testdata/openbandit.json")
	if python != "" {
		if !*update {
			logs = 1000
		}
		text, err = exec.Command(python, "testdata/openbandit.py", written(t, logs)).Output()
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v\n%s", err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []verdict
	if err := json.Unmarshal(text, &verdicts); err != nil || len(verdicts) != logs {
		t.Fatal(len(verdicts), err)
	}
	for seed, v := range verdicts {
		if names := slices.Sorted(maps.Keys(v.Target)); !slices.Equal(names, []string{"dm", "dr", "dros", "ips", "snips", "switch"}) || len(v.MRDR) == 0 {
			t.Fatal(names)
		}
		v.compare(t, uint64(seed))
	}
	if *update {
		if err := os.WriteFile("testdata/openbandit.json", append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// vowpal estimates the policies of logs by the estimators of Vowpal Wabbit's authors.
const vowpal = `
import json, sys
from estimators.bandits import ips, snips
out = []
for log in json.load(open(sys.argv[1])):
    verdict, pairs = {}, log["Pairs"]
    for policy in ("Target", "Baseline"):
        all = {"ips": ips.Estimator(), "snips": snips.Estimator()}
        for i, (a, c) in enumerate(zip(log["Executed"], log["Cost"])):
            for e in all.values():
                e.add_example(log["Logged"][i * pairs + a], c, log[policy][i * pairs + a])
        verdict[policy] = {name: e.get() for name, e in all.items()}
    out.append(verdict)
json.dump(out, sys.stdout)
`

// ips and snips are those of vw-estimators on 1,000 logs.
func TestVowpalWabbitEstimators(t *testing.T) {
	python := judge.Python(t, "estimators")
	const logs = 1000
	var verdicts []verdict
	if err := json.Unmarshal([]byte(judge.Run(t, python, "", vowpal, written(t, logs))), &verdicts); err != nil || len(verdicts) != logs {
		t.Fatal(len(verdicts), err)
	}
	for seed, v := range verdicts {
		if len(v.Target) != 2 {
			t.Fatalf("%d estimates", len(v.Target))
		}
		v.compare(t, uint64(seed))
	}
}
