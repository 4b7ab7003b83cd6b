package pipeline_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/eval"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

var updateEntries = flag.Bool("update-entries", false, "rewrite testdata/entries.txt")

// wrong is a call of an entry with something that it refuses.
type wrong struct {
	name   string
	train  func(o *train.Options) // nil: as good
	eval   func(o *eval.Options)
	tensor func(t *costs.Tensor) *costs.Tensor
	noRT   bool // no runtime for entries in memory, no library for the others
}

func wrongTrainings() []wrong {
	split := func(o *train.Options) { o.Split = "vall" }
	warm := func(o *train.Options) { o.Warm = storage.File("out/old.onnx") }
	unknown := func(t *costs.Tensor) *costs.Tensor { t.Loss[5] = float32(math.NaN()); return t }
	auto := func(o *train.Options) { o.Recipe, o.Auto.Steps = "auto", 1 }
	return []wrong{
		{name: "split", train: split},
		{name: "recipe", train: func(o *train.Options) { o.Recipe = "best" }},
		{name: "half-life", train: func(o *train.Options) { o.HalfLife = -1 }},
		{name: "any price", train: func(o *train.Options) { o.AnyPrice = true }},
		{name: "lambdas", train: func(o *train.Options) { o.Lambdas = nil }},
		{name: "prices", train: func(o *train.Options) { o.Prices.Lambda[0] = -1 }},
		{name: "methods", train: func(o *train.Options) { o.Methods = []string{"l2d", "l2d", "best", "ours"} }},
		{name: "own method", train: func(o *train.Options) { o.Own = []models.Method{{Name: "../up"}} }},
		{name: "network", train: func(o *train.Options) { o.Network.Epochs, o.Tau = 0, -1 }},
		{name: "auto", train: func(o *train.Options) { o.Auto.Folds = 0 }},
		{name: "warm with paper", train: warm},
		{name: "several", train: func(o *train.Options) { split(o); warm(o); o.Recipe, o.Lambdas = "best", nil }},
		{name: "output is an input", train: func(o *train.Options) { o.Config = storage.File("out/train.json") }},
		{name: "split, output is an input", train: func(o *train.Options) { split(o); o.Config = storage.File("out/train.json") }},
		{name: "no tensor", train: func(o *train.Options) { o.Tensor = storage.File("none.parquet") }},
		{name: "no runtime", noRT: true},
		{name: "split, no runtime", train: split, noRT: true},
		{name: "no tensor, no runtime", train: func(o *train.Options) { o.Tensor = storage.File("none.parquet") }, tensor: damages["there is no tensor"], noRT: true},
		{name: "damaged tensor", tensor: damages["has fee -1"]},
		{name: "split, damaged tensor", train: split, tensor: damages["has fee -1"]},
		{name: "auto, damaged tensor", train: auto, tensor: damages["has fee -1"]},
		{name: "auto, no runtime, damaged tensor", train: auto, tensor: damages["has fee -1"], noRT: true},
		{name: "unknown outcome", tensor: unknown},
		{name: "auto, unknown outcome, other method", train: func(o *train.Options) { auto(o); o.Methods = []string{"separated"} }, tensor: unknown},
		{name: "no training rows", tensor: heldOut},
		{name: "auto, no training rows", train: auto, tensor: heldOut},
		{name: "auto, few training rows", train: auto, tensor: func(t *costs.Tensor) *costs.Tensor { return t.Subset([]int{0, 1, 70}) }},
		{name: "auto, half-life without times", train: func(o *train.Options) { auto(o); o.HalfLife = 1 }},
		{name: "warm is missing", train: func(o *train.Options) { auto(o); warm(o); o.Warm = storage.File("none.onnx") }},
		{name: "method without head", train: func(o *train.Options) {
			o.Methods, o.Own = []string{"mine"}, []models.Method{{Name: "mine"}}
		}},
	}
}

// heldOut has no training rows.
func heldOut(t *costs.Tensor) *costs.Tensor { return t.Subset(t.Rows(costs.Val)) }

func wrongEvaluations() []wrong {
	split := func(o *eval.Options) { o.Split = "vall" }
	return []wrong{
		{name: "split", eval: split},
		{name: "resamples", eval: func(o *eval.Options) { o.Resamples = 1 }},
		{name: "own method", eval: func(o *eval.Options) { o.Own = []models.Method{{Name: "../up"}} }},
		{name: "examples", eval: func(o *eval.Options) { o.Examples = -1 }},
		{name: "learning curve", eval: func(o *eval.Options) { o.Learning, o.Split = true, "train" }},
		{name: "money", eval: func(o *eval.Options) { o.Money = "USD" }},
		{name: "lambda", eval: func(o *eval.Options) { o.Lambdas = []float64{-1, math.NaN()} }},
		{name: "several", eval: func(o *eval.Options) { split(o); o.Resamples, o.Money, o.Lambdas = 0, "x", []float64{-1} }},
		{name: "output is an input", eval: func(o *eval.Options) { o.Texts = storage.File("out/report.csv") }},
		{name: "split, output is an input", eval: func(o *eval.Options) { split(o); o.Texts = storage.File("out/report.csv") }},
		{name: "no tensor", eval: func(o *eval.Options) { o.Tensor = storage.File("none.parquet") }},
		{name: "no runtime", noRT: true},
		{name: "split, no runtime", eval: split, noRT: true},
		{name: "no tensor, no runtime", eval: func(o *eval.Options) { o.Tensor = storage.File("none.parquet") }, tensor: damages["there is no tensor"], noRT: true},
		{name: "damaged tensor", tensor: damages["has fee -1"]},
		{name: "split, damaged tensor", eval: split, tensor: damages["has fee -1"]},
		{name: "no such rows", eval: func(o *eval.Options) { o.Split = "test" }},
		{name: "policies are missing", eval: func(o *eval.Options) { o.Policies = storage.Files("none.onnx") }},
		{name: "no such rows, policies are missing", eval: func(o *eval.Options) { o.Split, o.Policies = "test", storage.Files("none.onnx") }},
		{name: "today", eval: func(o *eval.Options) { o.Today = "nobody/none" }},
		{name: "texts are missing", eval: func(o *eval.Options) { o.Texts = storage.File("none.csv") }},
		{name: "pictures are missing", eval: func(o *eval.Options) { o.Pictures = storage.File("none.yaml") }},
	}
}

// TestEntriesRefuse: what each entry of a stage says about wrong options, files and tensors, and which of several problems
// it names first.
func TestEntriesRefuse(t *testing.T) {
	rt := orttest.Open(t, 1)
	golden, err := filepath.Abs("testdata/entries.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range []string{"out/train.json", "out/report.csv"} {
		if err := errors.Join(os.MkdirAll("out", 0o777), os.WriteFile(f, []byte("{}"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	trained, _, err := train.Policies(t.Context(), rt, inMemory(), quickTraining(), models.CheckpointPolicy{}, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, w := range wrongTrainings() {
		fmt.Fprintf(&said, "train, %s\n%s", w.name, trainingErrors(t, rt, w))
	}
	for _, w := range wrongEvaluations() {
		fmt.Fprintf(&said, "eval, %s\n%s", w.name, evaluationErrors(t, rt, w, trained))
	}
	if *updateEntries {
		if err := os.WriteFile(golden, []byte(said.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(said.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// refusals lists errors, each once, with the entries that have it.
type refusals struct{ texts, entries []string }

func (r *refusals) add(entry string, err error) {
	text := "no error"
	if err != nil {
		text = strings.ReplaceAll(err.Error(), "\n", "\n      ")
	}
	i := slices.Index(r.texts, text)
	if i < 0 {
		i = len(r.texts)
		r.texts, r.entries = append(r.texts, text), append(r.entries, "")
	}
	r.entries[i] += "    " + entry + "\n"
}

func (r *refusals) String() string {
	var b strings.Builder
	for i, text := range r.texts {
		fmt.Fprintf(&b, "  %s\n%s", text, r.entries[i])
	}
	return b.String()
}

// given returns the tensor of w in memory and, if one can be written, in costs.parquet, and the runtime.
func given(t *testing.T, rt *ort.Runtime, w wrong) (*costs.Tensor, *ort.Runtime, ort.Config) {
	t.Helper()
	x, library := inMemory(), ort.DefaultConfig()
	if w.tensor != nil {
		x = w.tensor(x)
	}
	if err := os.Remove("costs.parquet"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if x != nil && x.ValidatePartial() == nil {
		if err := costs.Write(t.Context(), storage.File("costs.parquet"), x); err != nil {
			t.Fatal(err)
		}
	}
	if w.noRT {
		library.Library = "none.so"
		return x, nil, library
	}
	library.Library = rt.Library()
	return x, rt, library
}

func trainingErrors(t *testing.T, rt *ort.Runtime, w wrong) *refusals {
	t.Helper()
	x, rt, library := given(t, rt, w)
	o := train.DefaultOptions()
	o.Settings, o.Tensor, o.Out, o.Runtime = quickTraining(), storage.File("costs.parquet"), storage.File("out"), library
	if w.train != nil {
		w.train(&o)
	}
	r := new(refusals)
	_, err := train.Run(t.Context(), o, nil)
	r.add("train.Run", err)
	_, err = train.RunOn(t.Context(), rt, x, o, "out/checkpoints", nil)
	r.add("train.RunOn", err)
	_, _, err = train.Policies(t.Context(), rt, x, o.Settings, models.CheckpointPolicy{}, nil)
	r.add("train.Policies", err)
	s, err := train.OpenShards(t.Context(), o, 0)
	if err == nil {
		_ = s.Close()
	}
	r.add("train.OpenShards", err)
	return r
}

func evaluationErrors(t *testing.T, rt *ort.Runtime, w wrong, trained []*policy.Policy) *refusals {
	t.Helper()
	x, rt, library := given(t, rt, w)
	o := eval.DefaultOptions()
	o.Tensor, o.Out, o.Runtime, o.KNN, o.Resamples = storage.File("costs.parquet"), storage.File("out"), library, false, 2
	if w.eval != nil {
		w.eval(&o)
	}
	r := new(refusals)
	_, err := eval.Run(t.Context(), o, nil)
	r.add("eval.Run", err)
	_, err = eval.Policies(t.Context(), rt, x, trained, o, nil)
	r.add("eval.Policies", err)
	_, err = eval.Policies(t.Context(), rt, x, []*policy.Policy{{}}, o, nil)
	r.add("eval.Policies, an invalid policy", err)
	_, err = eval.Decisions(t.Context(), rt, x, nil, o, nil)
	r.add("eval.Decisions", err)
	_, err = eval.Decisions(t.Context(), rt, x, []replay.Decisions{{}}, o, nil)
	r.add("eval.Decisions, of no policy", err)
	return r
}
