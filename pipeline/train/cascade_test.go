package train

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// cascadeOptions train a cascade without networks on a table in a file.
func cascadeOptions(t *testing.T, tensor *costs.Tensor) Options {
	t.Helper()
	orttest.Open(t, 0) // skips without the runtime
	o := DefaultOptions()
	o.Tensor, o.Out = storage.File(filepath.Join(t.TempDir(), "costs.parquet")), storage.File(filepath.Join(t.TempDir(), "out"))
	o.Methods, o.Auto.Networks, o.Cascade = nil, nil, true
	if err := costs.Write(t.Context(), o.Tensor, tensor); err != nil {
		t.Fatal(err)
	}
	return o
}

// A cascade is a file beside the policy that decides once: it looks where that pays, its description names what it looks at, and its
// loss in the report is that of the played rows. Without --cascade in a later training, it goes.
func TestTrainCascade(t *testing.T) {
	tensor := coststest.Looks(1600, 1)
	o := cascadeOptions(t, tensor)
	r, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Policies) != 2 || r.Policies[1].File != "cascade-lambda1.onnx" || r.Policies[1].Method != "cascade" || r.Policies[1].OneShot || len(r.Cascades) != 1 {
		t.Fatalf("policies %+v, %d reports of cascades", r.Policies, len(r.Cascades))
	}
	once, looks := *r.Policies[0].TrueLoss, *r.Policies[1].TrueLoss
	if looks > once-0.02 {
		t.Errorf("the cascade costs %.4f, the policy that decides once %.4f", looks, once)
	}
	file := o.Out.Join("cascade-lambda1.onnx")
	d, err := cascade.Open(orttest.Open(t, 1), file.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows := tensor.Rows(costs.Val)
	p, err := cascade.Play(t.Context(), d, tensor, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, second := 0.0, 0
	for n := range rows {
		sum += p.Cost(n)
		second += len(p.Order[n]) - 1
	}
	if got := sum / float64(len(rows)); math.Abs(got-looks) > 1e-9 || second == 0 || second == len(rows) {
		t.Errorf("played the rows cost %.6f, the report says %.6f; two pairs on %d of %d rows", got, looks, second, len(rows))
	}
	about, err := decide.ReadDescription(t.Context(), decide.DescriptionFile(file))
	if err != nil {
		t.Fatal(err)
	}
	if same, err := about.Describes(t.Context(), file); err != nil || !same || about.Kind != "cascade" || about.Stages != 2 || len(about.Facts) != 2 || about.Facts[1].Name != "label" {
		t.Errorf("%v, %v: %+v", same, err, about)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "cascade at lambda 1:") || !strings.Contains(text.String(), "it is exported") {
		t.Errorf("%v\n%s", err, &text)
	}
	var kept Report
	if b, err := os.ReadFile(o.Out.Join(ReportFile).String()); err != nil || json.Unmarshal(b, &kept) != nil || len(kept.Cascades) != 1 || kept.Cascades[0].Guard.Rows == 0 {
		t.Errorf("%v: train.json has %+v", err, kept.Cascades)
	}
	o.Cascade = false
	if _, err := Run(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(o.Out.Join("cascade*").String())
	if err != nil || len(left) > 0 {
		t.Errorf("the next training left %v, %v", left, err)
	}
}

// Where answers show nothing, the file accepts every first answer, and costs what the policy that decides once costs.
func TestCascadeThatLooksInVain(t *testing.T) {
	if testing.Short() {
		t.Skip("trains cascades, as another test does")
	}
	tensor := coststest.Looks(1200, 2)
	for _, f := range tensor.Facts {
		shifted := slices.Clone(f.Data)
		for i := range f.Data { // the facts of another row
			f.Data[i] = shifted[(i+4*111)%len(shifted)]
		}
	}
	r, err := Run(t.Context(), cascadeOptions(t, tensor), stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Policies[1]; !c.OneShot || math.Abs(*c.TrueLoss-*r.Policies[0].TrueLoss) > 1e-6 {
		t.Errorf("cascade %+v, loss %.6f, that of the policy %.6f", c, *c.TrueLoss, *r.Policies[0].TrueLoss)
	}
}

// Trained in shards, files and the report are the same, byte by byte.
func TestShardsOfCascades(t *testing.T) {
	if testing.Short() {
		t.Skip("trains cascades, as another test does")
	}
	o := cascadeOptions(t, coststest.Looks(240, 4))
	o.Methods, o.Lambdas, o.Seeds, o.Network.Epochs, o.Auto.Neighbours = []string{"l2d"}, []float64{0, 1}, 1, 2, []int{20}
	if _, err := Run(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	whole := o.Out
	o.Out = storage.File(filepath.Join(t.TempDir(), "gathered"))
	gatherTraining(t, o, 0, 2)
	sameFiles(t, whole.String(), o.Out.String())
}

// What does not go with a cascade is an error before anything is trained.
func TestCascadeRefuses(t *testing.T) {
	blind := coststest.Looks(400, 3)
	blind.Facts = nil
	for want, change := range map[string]func(o *Options){
		"does not say what can be seen of answers":              func(*Options) {},
		"only the recipe auto trains cascades":                  func(o *Options) { o.Recipe = "paper" },
		"stages: 1, a cascade has at least 2":                   func(o *Options) { o.Stages = 1 },
		"no policy is trained for [0 1]":                        func(o *Options) { o.AnyPrice, o.Lambdas = true, []float64{0, 1} },
		"older one (deployed, warm)":                            func(o *Options) { o.Warm = storage.File("old.onnx") },
		"a log has the answer of one pair for each request":     func(o *Options) { o.Log.Log, o.Tensor = storage.File("log"), storage.Location{} },
		"a cascade is compared with the policy that decides on": func(o *Options) { o.Deployed = storage.File("live.onnx") },
	} {
		o := cascadeOptions(t, blind)
		change(&o)
		_, err := Run(t.Context(), o, stage.Quiet)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		var facts *noFactsError
		if want == "does not say what can be seen of answers" && (!errors.As(err, &facts) || !strings.Contains(facts.Hint(), "pipe costs")) {
			t.Errorf("%v has no hint", err)
		}
	}
}

// began records which phases began.
type began struct {
	stage.Progress
	phases *[]string
}

func (p began) Start(_ int64, phase string) { *p.phases = append(*p.phases, phase) }

func trains(phase string) bool { return strings.HasPrefix(phase, "train") }

// A method that cannot be trained on the table is an error before the cascade is trained.
func TestNothingIsTrainedInVain(t *testing.T) {
	tensor := coststest.Looks(400, 5)
	tensor.Actions.Unavailable = []costs.Pair{{Expert: 0}, {Expert: 1}} // nobody answers without advice
	for i := range tensor.Loss {
		if i%2 == 0 {
			tensor.Loss[i] = float32(math.NaN())
		}
	}
	o := cascadeOptions(t, tensor)
	o.Methods = []string{"l2d"}
	var phases []string
	_, err := Run(t.Context(), o, began{stage.Quiet, &phases})
	var option *stage.OptionError
	if !errors.As(err, &option) || !strings.Contains(err.Error(), "no expert is available without advice") {
		t.Errorf("error %v", err)
	}
	if slices.ContainsFunc(phases, trains) {
		t.Errorf("began %q", phases)
	}
}

// With a risk, the cascade has a guarantee, which its description and the report have; a risk that no policy can keep is refused before
// anything is trained.
func TestTrainCascadeWithGuarantee(t *testing.T) {
	if testing.Short() {
		t.Skip("trains cascades, as another test does")
	}
	o := cascadeOptions(t, coststest.Looks(1600, 1))
	o.Guarantee.Risk = 0.001
	var infeasible *calibrate.InfeasibleError
	var phases []string
	if _, err := Run(t.Context(), o, began{stage.Quiet, &phases}); !errors.As(err, &infeasible) || !strings.Contains(err.Error(), "400 rows are too few") || slices.ContainsFunc(phases, trains) {
		t.Fatalf("%v after %q", err, phases)
	}
	if left, err := filepath.Glob(filepath.Join(o.Out.String(), "*.onnx")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	o.Guarantee.Risk = 0.15
	for name, any := range map[string]bool{"cascade-lambda1.onnx": false, "cascade-any-price.onnx": true} {
		if o.AnyPrice, o.Guarantee.Lambdas = any, nil; any {
			o.Guarantee.Lambdas = []float64{0, 1, 4}
		}
		r, err := Run(t.Context(), o, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Policies) != 2 || r.Policies[1].File != name || r.Policies[1].Guarantee == nil || r.Policies[1].Guarantee.Guarantee.At[0].Accepted < 0.2 {
			t.Fatalf("%+v", r.Policies)
		}
		file := o.Out.Join(name)
		_, info, err := cascade.Read(file.String())
		if err != nil || info.Guarantee == nil || info.Guarantee.Risk != 0.15 || len(info.Guarantee.At) != max(1, len(o.Guarantee.Lambdas)) || (info.Prices != nil) != any {
			t.Errorf("%+v %v", info, err)
		}
		about, err := decide.ReadDescription(t.Context(), decide.DescriptionFile(file))
		if err != nil || about.Guarantee == nil || len(about.Promise) == 0 {
			t.Errorf("%+v %v", about, err)
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || strings.Count(text.String(), "cannot be promised on this table with more than") != 2 {
			t.Errorf("%v\n%s", err, &text)
		}
	}
	before, err := filepath.Glob(filepath.Join(o.Out.String(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	o.AnyPrice, o.Guarantee.Risk, o.Guarantee.Lambdas = false, 0.01, nil // the best pairs of rows keep it, what is learned does not
	if _, err := Run(t.Context(), o, stage.Quiet); !errors.As(err, &infeasible) || !strings.Contains(err.Error(), ".onnx: a risk of at most 0.01 cannot be promised") {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(o.Out.String(), "*.*")); err != nil || !slices.Equal(left, before) {
		t.Errorf("%v, before %v: %v", left, before, err)
	}
}

// Where the gain is large enough on average, and prices forbid it all the same, the report says so.
func TestWorseAtSomePrices(t *testing.T) {
	r := fit.Report{Guard: cascade.Guard{Rows: 100, Fallback: true, Gain: 0.1, LowerBound: 0.05, Prices: []policy.PriceGuard{{UpperBound: -0.01}, {UpperBound: 0.2}}}}
	var b strings.Builder
	writeCascade(&b, r)
	if !strings.Contains(b.String(), "lower bound 0.0500: it accepts every first answer, because it is worse at 1 of these prices") {
		t.Error(b.String())
	}
}
