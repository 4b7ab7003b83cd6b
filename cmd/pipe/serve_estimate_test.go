package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipe/internal/judge"
)

// valueOfLarge is the mean cost of the pair large/none in the planted world: a loss of 1 with probability 0.4, or 0.8 where
// the first feature is above 0, which is half of the rows, and the fee of 0.05.
const valueOfLarge = (0.4+0.8)/2 + 0.05

// lossOf draws the loss of a pair.
func lossOf(action int, x float64, r *rand.Rand) int {
	p := 0.2 + 0.1*float64(action)
	if x > 0 {
		p += 0.4
	}
	if r.Float64() < p {
		return 1
	}
	return 0
}

// valued estimates by importance weights what it costs to use large/none always.
const valued = `
import json, sys
from estimators.bandits import gaussian, ips
from estimators.utils import ds_parse
value, interval, n = ips.Estimator(), gaussian.Interval(), 0
for line in open(sys.argv[1], "rb"):
    row, full = ds_parse.json_cooked(line), json.loads(line)
    same = 1.0 if full["c"]["_multi"][row["a"] - 1]["_tag"] == "large/none" else 0.0
    value.add_example(row["p"], float(row["cost"]), same)
    interval.add_example(row["p"], float(row["cost"]), same, full["pdrop"])
    n += 1
print(n, value.get(), *interval.get(0.05))
`

// TestServedLogValuesPolicies serves a policy with exploration in a planted world and reports the outcomes. From the log of
// that run an outside judge estimates the known cost of another policy, within its interval.
func TestServedLogValuesPolicies(t *testing.T) {
	python := judge.Python(t, "estimators")
	folder := samplesIn(t)
	settings := "policies: {paths: [anyprice.onnx]}\nlog: {folder: log}\ndecision: {seed: 11, explore: {epsilon: 0.4}}\n"
	if err := os.WriteFile(filepath.Join(folder, "serve.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, folder, "--config", "serve.yaml")
	r := rand.New(rand.NewPCG(1, 2))
	const requests, rows = 40, 100
	for range requests {
		features := make([][2]float64, rows)
		for i := range features {
			features[i] = [2]float64{2*r.Float64() - 1, 2*r.Float64() - 1}
		}
		decideAndReport(t, s, features, r)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(t)
	p := start(t, folder, nil, "import", "--log", "log", "--dsjson", "log.dsjson")
	if err := <-p.ended; err != nil {
		t.Fatal(err, p.stderr.String())
	}
	out := judge.Run(t, python, "", valued, filepath.Join(folder, "log.dsjson"))
	var n int
	var value, low, high float64
	if _, err := fmt.Sscan(out, &n, &value, &low, &high); err != nil {
		t.Fatal(err, out)
	}
	t.Logf("%d decisions: large/none costs %.4f by importance weights, 95%% %.4f to %.4f; known: %.4f", n, value, low, high, valueOfLarge)
	if n != requests*rows || valueOfLarge < low || valueOfLarge > high || high-low > 0.3 || math.Abs(value-valueOfLarge) > 0.1 {
		t.Errorf("%s: the known value is %v", strings.TrimSpace(out), valueOfLarge)
	}
}

// decideAndReport asks for decisions on rows and reports what became of them.
func decideAndReport(t *testing.T, s *server, features [][2]float64, r *rand.Rand) {
	t.Helper()
	post := func(path string, body any) string {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		code, text, err := ask(http.DefaultClient, s.url+path, string(b))
		if err != nil || code != http.StatusOK {
			t.Fatal(code, text, err)
		}
		return text
	}
	var answer struct {
		Decisions []struct {
			ID    string
			Index int
		}
	}
	if err := json.Unmarshal([]byte(post("/v1/decide", map[string]any{"features": features, "top": 1})), &answer); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		ID   string `json:"id"`
		Loss int    `json:"loss"`
	}
	var outcomes []outcome
	for i, d := range answer.Decisions {
		outcomes = append(outcomes, outcome{d.ID, lossOf(d.Index, features[i][0], r)})
	}
	post("/v1/outcomes", outcomes)
}
