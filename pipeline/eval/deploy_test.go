package eval

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/convert"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// evalFiles writes a tensor of two experts and two features, and makes policies for it.
type evalFiles struct {
	t      *testing.T
	dir    string
	tensor *costs.Tensor
}

func newEvalFiles(t *testing.T) *evalFiles {
	t.Helper()
	tensor := world.SyntheticTensor(60, costs.Train, 1, true)
	val := world.SyntheticTensor(40, costs.Val, 1, true)
	tensor.IDs, tensor.Splits = append(tensor.IDs, val.IDs...), append(tensor.Splits, val.Splits...)
	tensor.Features, tensor.Loss = append(tensor.Features, val.Features...), append(tensor.Loss, val.Loss...)
	return &evalFiles{t, t.TempDir(), tensor}
}

func (f *evalFiles) policy(name string, change func(p *policy.Policy)) string {
	f.t.Helper()
	a := *f.tensor.Actions
	a.Experts, a.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
	p := &policy.Policy{
		Actions: &a, Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{{Out: 4, In: 2, W: []float32{-1, -1, -1, 1, 1, -1, 1, 1}, B: make([]float32, 4)}}}},
		Info:    map[string]string{"training_digest": f.tensor.Digest(), "settings": `{"epochs":5}`},
	}
	change(p)
	m, err := p.Export()
	if err != nil {
		f.t.Fatal(err)
	}
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := m.WriteFile(path); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *evalFiles) eval(policies ...string) (*report.Report, error) {
	f.t.Helper()
	o := DefaultOptions()
	o.Tensor, o.Policies, o.KNN = storage.File(filepath.Join(f.dir, "costs.parquet")), storage.Files(policies...), false
	if err := costs.Write(f.t.Context(), o.Tensor, f.tensor); err != nil {
		f.t.Fatal(err)
	}
	return Run(context.Background(), o, stage.Quiet)
}

// row is the line of a method.
func (f *evalFiles) row(r *report.Report, method string) report.Row {
	f.t.Helper()
	for _, row := range r.Rows {
		if row.Method == method {
			return row
		}
	}
	f.t.Fatalf("no row of %s", method)
	return report.Row{}
}

func fixed(action int, guard string) func(p *policy.Policy) {
	return func(p *policy.Policy) {
		p.Method, p.Recipe, p.Decoder, p.Members, p.Dim, p.Fixed = "auto", "auto", policy.DecoderFixed, nil, 2, action
		if guard != "" {
			p.Info["guard"] = guard
		}
	}
}

func keepPolicy(*policy.Policy) {}

// The same policy with another file name, another loss on validation rows, or other files behind its tensor is one
// seed; other weights or another seed are two.
func TestEqualPoliciesAreCountedOnce(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	one := f.policy("a/ours.onnx", keepPolicy)
	seed := func(n string) func(p *policy.Policy) { return func(p *policy.Policy) { p.Info["seed"] = n } }
	for _, c := range []struct {
		name  string
		other string
		seeds int
	}{
		{"itself", one, 1},
		{"its folder", filepath.Dir(one), 1},
		{"a copy", f.policy("b/ours.onnx", keepPolicy), 1},
		{"reported on other rows", f.policy("c/ours.onnx", func(p *policy.Policy) { p.Info["validation"] = `{"rows":3}` }), 1},
		{"other files behind", f.policy("d/ours.onnx", func(p *policy.Policy) { p.Actions.Digests = map[string]string{"rows /elsewhere/x.csv": "sha256:1"} }), 1},
		{"other weights", f.policy("e/ours.onnx", func(p *policy.Policy) { p.Members[0].Layers[0].W[0] = -2 }), 2},
		{"another seed", f.policy("f/ours.onnx", seed("7")), 2},
	} {
		r, err := f.eval(one, c.other)
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(r.Notes, func(n string) bool {
			return strings.Contains(n, "is the same policy as") && strings.Contains(n, "counted once")
		})
		if got := f.row(r, "ours"); got.Seeds != c.seeds || said != (c.seeds == 1) {
			t.Errorf("%s: %d seeds, notes %q", c.name, got.Seeds, r.Notes)
		}
	}
}

// A policy with an encoder in front is evaluated as the policy behind it, and both together count once.
func TestEvalOfAMergedFile(t *testing.T) {
	orttest.Open(t, 1)
	dir := t.TempDir()
	trained := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	_, info, err := policy.Read(trained)
	if err != nil {
		t.Fatal(err)
	}
	f := &evalFiles{t, dir, &costs.Tensor{Actions: info.Actions, Dim: hftest.Hidden}}
	for n := range 40 {
		f.tensor.IDs, f.tensor.Splits = append(f.tensor.IDs, string(rune('a'+n))), append(f.tensor.Splits, costs.Split(n%2))
		for i := range hftest.Hidden {
			f.tensor.Features = append(f.tensor.Features, float32((n*7+i*3)%11)-5)
		}
		f.tensor.Loss = append(f.tensor.Loss, float32(n%3), float32(n%5), 1, float32(n%2))
	}
	merged := filepath.Join(dir, "merged.onnx")
	if _, err := convert.Run(t.Context(), convert.Options{Model: hftest.Folder(t), Merge: storage.File(trained), Out: storage.File(merged)}); err != nil {
		t.Fatal(err)
	}
	plain, err := f.eval(trained)
	if err != nil {
		t.Fatal(err)
	}
	front, err := f.eval(merged)
	if err != nil {
		t.Fatal(err)
	}
	if stage.JSON(plain.Rows) != stage.JSON(front.Rows) || !strings.Contains(strings.Join(front.Notes, " "), "has the encoder small in front, which did not run") {
		t.Errorf("rows %v\n%v, notes %q", stage.JSON(plain.Rows), stage.JSON(front.Rows), front.Notes)
	}
	both, err := f.eval(trained, merged)
	if err != nil || f.row(both, "ours").Seeds != 1 {
		t.Errorf("%v: %d seeds", err, f.row(both, "ours").Seeds)
	}
}

// A constant is marked: in the row, its remark and a note; also if the guard made it so.
func TestEvalSaysWhichPoliciesAreConstants(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	a := f.tensor.Actions
	fell := f.policy("fell.onnx", fixed(2, `{"fixed":"x","fixed_loss":0.5,"gain":0.0002,"lower_bound":0.0001,"confidence":0.84,"rows":60,"rule":"gain","fallback":true}`))
	r, err := f.eval(fell)
	if err != nil {
		t.Fatal(err)
	}
	row := f.row(r, "auto")
	if row.Fallback[a.Name(2)] != 1 || row.Pair != a.Name(2) || row.Remark() != "guard: always "+a.Name(2) ||
		!strings.Contains(strings.Join(r.Notes, " "), "The guard fell back to it: the gain, 0.0002, is not above 0.0010 (0.2% of the loss of the best fixed pair).") {
		t.Errorf("row %+v, notes %q", row, r.Notes)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "guard: always "+a.Name(2)) {
		t.Errorf("%v: %s", err, b.String())
	}
	// One of two seeds is the constant: the method does not always choose one pair.
	other := f.policy("learned.onnx", func(p *policy.Policy) { p.Method, p.Recipe = "auto", "auto" })
	if r, err = f.eval(fell, other); err != nil {
		t.Fatal(err)
	}
	if row = f.row(r, "auto"); row.Pair != "" || row.Remark() != "guard: always "+a.Name(2)+" in 1 of 2" {
		t.Errorf("row %+v, remark %q", row, row.Remark())
	}
	// A learned policy that happens to choose one pair, and a constant without a guard.
	same := f.policy("same.onnx", func(p *policy.Policy) {
		p.Method = "separated_softmax"
		p.Members[0].Layers[0] = network.Affine{Out: 4, In: 2, W: make([]float32, 8), B: []float32{0, 3, 0, 0}}
	})
	if r, err = f.eval(same, f.policy("plain.onnx", fixed(1, ""))); err != nil {
		t.Fatal(err)
	}
	if row = f.row(r, "separated_softmax"); row.Remark() != a.Name(1)+" on every row" || row.Pair != "" {
		t.Errorf("row %+v, remark %q", row, row.Remark())
	}
	if row = f.row(r, "auto"); row.Fallback != nil || row.Pair != a.Name(1) || !strings.Contains(strings.Join(r.Notes, " "), "is a constant: it always plays "+a.Name(1)+".") {
		t.Errorf("row %+v, notes %q", row, r.Notes)
	}
}

// Fees that differ from those in training are reported in the row, its remark and a note; the true loss counts the
// tensor's.
func TestEvalSaysThatFeesHaveChanged(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	before, err := f.eval(f.policy("before.onnx", keepPolicy))
	if err != nil {
		t.Fatal(err)
	}
	if row := f.row(before, "ours"); row.ChangedFees != nil || strings.Contains(strings.Join(before.Notes, " "), "trained") {
		t.Errorf("%+v, %q", row, before.Notes)
	}
	trained := f.policy("after.onnx", func(p *policy.Policy) {
		p.Actions.Experts[1].Fee += 0.5
		p.Actions.Advice[1].Fee += 0.25
	})
	r, err := f.eval(trained)
	if err != nil {
		t.Fatal(err)
	}
	row, all := f.row(r, "ours"), strings.Join(r.Notes, " ")
	e, v := f.tensor.Actions.Experts[1], f.tensor.Actions.Advice[1]
	want := []costs.FeeChange{{Kind: "expert", Name: e.Name, Trained: e.Fee + 0.5, Here: e.Fee}, {Kind: "advice", Name: v.Name, Trained: v.Fee + 0.25, Here: v.Fee}}
	if !slices.Equal(row.ChangedFees, want) || row.Remark() != "trained with other fees" || !strings.Contains(all, "was trained with other fees than this tensor has: expert") {
		t.Errorf("%+v, %q", row.ChangedFees, r.Notes)
	}
	if row.TrueLossMean != f.row(before, "ours").TrueLossMean {
		t.Error("the true loss does not count the fees of the tensor")
	}
	// Trained on another table: the rows may be among its training rows.
	r, err = f.eval(f.policy("elsewhere.onnx", func(p *policy.Policy) { p.Info["training_digest"] = "0" }))
	if err != nil || !strings.Contains(strings.Join(r.Notes, " "), "was trained on another table than this one") {
		t.Errorf("%v, %q", err, r.Notes)
	}
}

// A policy cannot pass for a baseline.
func TestEvalRefusesPoliciesWithTheNameOfABaseline(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	for _, m := range methods.All() {
		if m.Role == models.RolePolicy {
			continue
		}
		_, err := f.eval(f.policy("p.onnx", func(p *policy.Policy) { p.Method = m.Name }))
		var bad *costs.DataError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), `its method is "`+m.Name+`"`) {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	if r, err := f.eval(f.policy("p.onnx", func(p *policy.Policy) { p.Method = "mine" })); err != nil || f.row(r, "mine").Method != "mine" {
		t.Errorf("a method of another name: %v", err)
	}
}
