package fromlog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// export writes a log of the planted world in the forms of other programs.
func export(t *testing.T, seed uint64, rows int, s decisionlog.Settings) (dsjson, npz, asJSON string) {
	t.Helper()
	folder, out := newWorld(seed).log(t, rows, s), t.TempDir()
	o := DefaultOptions()
	o.Log, o.DSJSON, o.OBP = storage.File(folder), storage.File(filepath.Join(out, "log.dsjson")), storage.File(filepath.Join(out, "log.npz"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.DSJSON, o.OBP = storage.Location{}, storage.File(filepath.Join(out, "log.json"))
	if _, err := Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if r.Exported < rows/3 || s.Sample == 1 && r.Exported != rows {
		t.Fatalf("%+v", r)
	}
	return filepath.Join(out, "log.dsjson"), filepath.Join(out, "log.npz"), o.OBP.String()
}

// vowpal estimates the value of the target policy of the planted world with the estimators of Vowpal Wabbit's authors. It
// reads the exported lines with their parser.
const vowpal = `
import json, sys
from estimators.bandits import ips, snips, gaussian
from estimators.utils import ds_parse
known = float(sys.argv[1])
covered = 0
for path in sys.argv[2:]:
    a, b, c = ips.Estimator(), snips.Estimator(), gaussian.Interval()
    for line in open(path, "rb"):
        row, full = ds_parse.json_cooked(line), json.loads(line)
        multi, x = full["c"]["_multi"], full["c"]["x"][0]
        tags = [m["_tag"] for m in multi]
        assert sorted(full["a"]) == list(range(1, len(multi) + 1)) and abs(sum(full["p"]) - 1) < 1e-9
        assert full["a"][0] == full["_label_Action"] == full["_labelIndex"] + 1 and full["p"][0] == full["_label_probability"] == row["p"]
        assert row["num_a"] == len(multi) and row["a"] == full["_label_Action"]
        want = "small/none" if x < 0 else "large/none" if "large/none" in tags else "large/search"
        p = 1.0 if tags[row["a"] - 1] == want else 0.0
        r = float(row["cost"])
        a.add_example(row["p"], r, p)
        b.add_example(row["p"], r, p)
        c.add_example(row["p"], r, p, full["pdrop"])
    low, high = c.get(0.05)
    covered += low <= known <= high
    assert abs(a.get() - known) < 0.3 and abs(b.get() - known) < 0.2, (a.get(), b.get())
print(covered)
`

// The estimates of vw-estimators from the DSJSON cover the known value of another policy.
func TestVowpalWabbitEstimators(t *testing.T) {
	python := judge.Python(t, "estimators")
	const seeds = 20
	args := []string{strconv.FormatFloat(targetValue, 'g', -1, 64)}
	for seed := range uint64(seeds) {
		s := decisionlog.DefaultSettings()
		if seed%4 == 3 {
			s.Sample = 0.5
		}
		dsjson, _, _ := export(t, seed+100, 1000, s)
		args = append(args, dsjson)
	}
	covered, err := strconv.Atoi(strings.TrimSpace(judge.Run(t, python, "", vowpal, args...)))
	if err != nil || covered < 16 {
		t.Errorf("%d of %d intervals cover the value, %v", covered, seeds, err)
	}
	t.Logf("vw-estimators: %d of %d intervals of 95%% cover %v", covered, seeds, targetValue)
}

// dictionary checks the arrays against each other, in both forms, as NumPy reads them.
const dictionary = `
import json, sys
import numpy as np
z, j = np.load(sys.argv[1]), json.load(open(sys.argv[2]))
n, a = int(z["n_rounds"]), int(z["n_actions"])
assert z["context"].shape == (n, 2) and z["context"].dtype == np.float32 and z["pi_b"].shape == (n, a, 1)
assert z["action"].dtype == np.int64 and z["action_names"].tolist() == ["small/none", "small/search", "large/none", "large/search"]
assert np.array_equal(z["pi_b"][np.arange(n), z["action"], 0], z["pscore"]) and np.allclose(z["pi_b"].sum(axis=(1, 2)), 1, atol=1e-9)
assert (z["keep"] == 1).all() and (z["position"] == 0).all() and len(set(z["id"].tolist())) == n
for key in ("n_rounds", "n_actions", "action", "reward", "pscore", "pi_b", "keep", "id", "action_names", "policy", "canary", "share", "executed"):
    assert np.array_equal(z[key], np.array(j[key])), key
assert np.array_equal(z["context"], np.array(j["context"], dtype=np.float32)) and j["position"] is None
print(n)
`

func TestDictionary(t *testing.T) {
	python := judge.Python(t, "numpy")
	_, npz, asJSON := export(t, 7, 500, decisionlog.DefaultSettings())
	if out := judge.Run(t, python, "", dictionary, npz, asJSON); strings.TrimSpace(out) != "500" {
		t.Error(out)
	}
}

// openBandit estimates the value of the target policy with Open Bandit Pipeline, and bounds it by its bootstrap. Its import
// needs torch, which these estimators do not use: where it is not installed, an empty module stands in.
const openBandit = `
import sys, types
try:
    import torch
except ImportError:
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["torch"].Tensor = type("Tensor", (), {})
import numpy as np
from obp.ope import InverseProbabilityWeighting, SelfNormalizedInverseProbabilityWeighting
known, covered = -float(sys.argv[1]), 0
for path in sys.argv[2:]:
    z = np.load(path)
    n, a = int(z["n_rounds"]), int(z["n_actions"])
    want = np.where(z["context"][:, 0] < 0, 0, np.where(z["pi_b"][:, 2, 0] > 0, 2, 3))
    dist = np.zeros((n, a, 1))
    dist[np.arange(n), want, 0] = 1
    args = dict(reward=z["reward"], action=z["action"], pscore=z["pscore"], position=z["position"], action_dist=dist)
    for e in (InverseProbabilityWeighting(), SelfNormalizedInverseProbabilityWeighting()):
        assert abs(e.estimate_policy_value(**args) - known) < 0.3, e.estimate_policy_value(**args)
    b = InverseProbabilityWeighting().estimate_interval(**args, n_bootstrap_samples=200, random_state=1)
    covered += b["95.0% CI (lower)"] <= known <= b["95.0% CI (upper)"]
print(covered)
`

// Open Bandit Pipeline needs many packages, so it is a judge on demand: PIPE_OBP names a Python that has it.
func TestOpenBanditPipeline(t *testing.T) {
	python := os.Getenv("PIPE_OBP")
	if python == "" {
		t.Skip("PIPE_OBP names no Python with the package obp: pip install obp, or pip install --no-deps obp and the packages that it imports")
	}
	if out, err := exec.Command(python, "-c", "import importlib.metadata as m; print(m.version('obp'))").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	const seeds = 20
	args := []string{strconv.FormatFloat(targetValue, 'g', -1, 64)}
	for seed := range uint64(seeds) {
		_, npz, _ := export(t, seed+100, 1000, decisionlog.DefaultSettings())
		args = append(args, npz)
	}
	covered, err := strconv.Atoi(strings.TrimSpace(judge.Run(t, python, "", openBandit, args...)))
	if err != nil || covered < 16 {
		t.Errorf("%d of %d intervals cover the value, %v", covered, seeds, err)
	}
	t.Logf("obp: %d of %d intervals of 95%% cover %v", covered, seeds, -targetValue)
}
