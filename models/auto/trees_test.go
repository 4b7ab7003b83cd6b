package auto

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	judges "pipe/internal/judge"
	"pipe/models"
	"pipe/models/lightgbm"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// banded has steps that no affine map follows, in one of 30 features, so that near rows are no help either: expert b is
// good in a band, and expert a elsewhere.
var banded = plantedLaw{
	actions: &costs.Actions{
		Experts:  []costs.Expert{{Name: "a"}, {Name: "b", Fee: 0.02}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "docs", Fee: 0.03}},
		Features: costs.FeatureSource{Name: "planted", Dim: 30},
	},
	dim: 30,
	mean: func(x []float32) []float64 {
		if x[0] > -0.5 && x[0] < 0.5 {
			return []float64{0.8, 0.75, 0.2, 0.15}
		}
		return []float64{0.2, 0.15, 0.8, 0.75}
	},
}

// withTrees are quick settings.
func withTrees(trees ...int) Settings {
	s := DefaultSettings()
	s.Networks, s.Trees, s.Ridge, s.Neighbours, s.Folds = nil, trees, s.Ridge[1:3], s.Neighbours[1:3], 3
	return s
}

// judgeActions runs policies in Python's runtime and compares their actions and scores with those of Go.
const judgeActions = `
import sys, numpy as np, onnx, onnxruntime
path, dim, pairs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
onnx.checker.check_model(path, full_check=True)
model = onnx.load(path)
assert {(o.domain, o.version) for o in model.opset_import} == {("", 17), ("ai.onnx.ml", 3)}, model.opset_import
read = lambda name, width: np.fromfile(name, dtype="<f4").reshape(-1, width)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
action, scores = session.run(["action", "scores"], {"features": read("features", dim)})
np.testing.assert_allclose(scores, read("scores", pairs), rtol=1e-5, atol=1e-5)
assert (action == read("actions", 1)[:, 0]).all()
print(len(action), "rows")
`

// TestAutoWithTrees: the trees find steps that the other members do not, twice with the same bytes. The file decides as
// Go does, also in Python.
func TestAutoWithTrees(t *testing.T) {
	lightgbmtest.Open(t)
	rt := orttest.Open(t, 0)
	train := banded.tensor(2000, costs.Train, 1, true)
	learn := func(s Settings) (*policy.Policy, Report) {
		t.Helper()
		policies, reports, err := Train(t.Context(), train, []float64{1}, s, models.Options{Runtime: rt})
		if err != nil {
			t.Fatal(err)
		}
		return policies[0], reports[0]
	}
	p, r := learn(withTrees(20, 80))
	own, bayes := banded.risk(t, p)
	without, _ := learn(withTrees())
	other, _ := banded.risk(t, without)
	t.Logf("expected cost %.4f, without trees %.4f, Bayes %.4f", own, other, bayes)
	if own > bayes+0.02 || other < own+0.05 {
		t.Errorf("expected cost %.4f, without trees %.4f, Bayes %.4f (%+v)", own, other, bayes, r.Members)
	}
	i := slices.IndexFunc(r.Members, func(m policy.Member) bool { return m.Name == "80 trees" })
	if i < 0 || r.Members[i].Weight < 0.5 {
		t.Errorf("the members are %+v", r.Members)
	}
	if again, _ := learn(withTrees(20, 80)); exported(t, p) != exported(t, again) {
		t.Error("a second training has other bytes")
	}

	d := decider(t, p)
	test := banded.tensor(500, costs.Test, 3, true)
	out, err := d.Decide(t.Context(), test.Features, test.Len())
	if err != nil {
		t.Fatal(err)
	}
	actions := make([]float32, test.Len())
	for n := range test.Len() {
		action, err := p.Decide(test.Row(n))
		if err != nil || int64(action) != out.Action[n] {
			t.Fatalf("row %d: Go decides %d, the graph %d (%v)", n, action, out.Action[n], err)
		}
		actions[n] = float32(action)
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	python, dir := judges.Python(t, "numpy", "onnx", "onnxruntime"), t.TempDir()
	if err := m.WriteFile(filepath.Join(dir, "policy.onnx")); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]float32{"features": test.Features, "scores": out.Scores, "actions": actions} {
		b, err := binary.Append(nil, binary.LittleEndian, v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := judges.Run(t, python, dir, judgeActions, "policy.onnx", strconv.Itoa(banded.dim), strconv.Itoa(banded.actions.Len())); said != "500 rows\n" {
		t.Error(said)
	}
}

// TestAnyPriceWithTrees: the trees are in policies for any price, too, where some pairs are unavailable.
func TestAnyPriceWithTrees(t *testing.T) {
	lightgbmtest.Open(t)
	train := banded.tensor(1200, costs.Train, 1, true)
	actions := *banded.actions
	actions.Unavailable = []costs.Pair{{Expert: 1, Advice: 1}}
	train.Actions = &actions
	for n := range train.Len() {
		train.Loss[4*n+3] = float32(math.NaN())
	}
	p, r, err := TrainAnyPrice(t.Context(), train, policy.DefaultPriceRange(), withTrees(60), models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Guard.Fallback || !strings.Contains(exported(t, p), "TreeEnsembleRegressor") {
		t.Errorf("guard %+v, members %+v", r.Guard, r.Members)
	}
}

// TestTreesNotReady: an absent library and trees that are too large are errors before any work.
func TestTreesNotReady(t *testing.T) {
	train := banded.tensor(200, costs.Train, 1, true)
	idle := models.Options{Runtime: orttest.Open(t, 0), Stage: func(name string, _ int) { t.Errorf("%s has begun", name) }}
	refused := func(s Settings, want string) error {
		t.Helper()
		_, _, err := Train(t.Context(), train, []float64{1}, s, idle)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
		return err
	}
	refused(withTrees(5000), "4 pairs x 5000 rounds x 15 leaves are 300000 leaves: at most 262144")
	s := withTrees(10, 1000)
	s.FileMiB = 4
	refused(s, "1000 trees for each of 4 pairs take up to 4.2 MiB of the policy file, file_mib is 4")
	refused(withTrees(0), "trees: 0, not 1 to 10000")
	refused(withTrees(10_001), "trees: 10001, not 1 to 10000")
	refused(withTrees(7, 7), "trees: 7 is a duplicate")
	lightgbmtest.Absent(t)
	err := refused(withTrees(7), "find the LightGBM library: not found")
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "make lightgbm") {
		t.Errorf("%v has no hint", err)
	}
	if err := withTrees().Ready(1 << 20); err != nil {
		t.Errorf("without trees: %v", err)
	}
}

// TestTreesAreNotAmongEqualWeights: they take part only if there are no ridge regressions and neighbours.
func TestTreesAreNotAmongEqualWeights(t *testing.T) {
	for _, c := range []struct {
		kinds []kind
		want  []float64
	}{
		{[]kind{constantMember, simpleMember, simpleMember, treeMember, networkMember}, []float64{0, 0.5, 0.5, 0, 0}},
		{[]kind{constantMember, treeMember, treeMember, networkMember}, []float64{0, 0.5, 0.5, 0}},
	} {
		if got := equalWeights(c.kinds); !slices.Equal(got, c.want) {
			t.Errorf("%v have %v, want %v", c.kinds, got, c.want)
		}
	}
}
