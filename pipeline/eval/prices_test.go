package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/storage"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/convert"
	"pipe/pipeline/inspect"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// anyPrice writes an any-price policy by ridge regression of the losses of the training rows.
func (f *evalFiles) anyPrice(name string, change func(p *policy.Policy)) string {
	f.t.Helper()
	rows := f.tensor.Rows(costs.Train)
	d := regress.NewData(f.tensor, rows, network.Standardizer{})
	fit := make([]int, len(rows))
	for i := range fit {
		fit[i] = i
	}
	parts, err := regress.Ridge{Penalties: []float64{1}}.Fit(f.t.Context(), d, fit, []float64{1})
	if err != nil {
		f.t.Fatal(err)
	}
	r := policy.DefaultPriceRange()
	e := &policy.Estimate{Constant: costs.Summarize(f.tensor, rows, 0).Cost, Prices: &r}
	e.Blend.Parts = parts
	return f.policy(name, func(p *policy.Policy) {
		p.Method, p.Recipe, p.Decoder, p.Members, p.Dim, p.Estimate = "auto", "auto", policy.DecoderEstimate, nil, 2, e
		change(p)
	})
}

// frozen writes the policy with fixed prices that an any-price file becomes at lambda.
func (f *evalFiles) frozen(file, name string, lambda float64) string {
	f.t.Helper()
	o := convert.DefaultOptions()
	o.Model, o.Out, o.Prices = file, storage.File(filepath.Join(f.dir, name)), policy.PriceChange{Lambda: &lambda}
	if _, err := convert.Run(f.t.Context(), o); err != nil {
		f.t.Fatal(err)
	}
	return o.Out.String()
}

// A report at other prices is that of a tensor whose fees were measured at these prices, and says so. Policies trained on the table
// at the prices of before, or at those of the report, were trained on the same table.
func TestEvalAtOtherPrices(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	f.tensor.Meta = map[string]string{costs.MoneyKey: `{"currency":"USD","per_loss":0.5}`}
	experts := len(f.tensor.Actions.Experts)
	table := &prices.Table{Currency: "USD", Models: map[string][]prices.Period{}}
	for j, e := range f.tensor.Actions.Experts {
		in, call := float64(1000*(1+j)), 0.01*float64(experts-j)
		table.Models[e.Name] = []prices.Period{{In: &in, Call: &call}}
	}
	for i := range f.tensor.Loss {
		f.tensor.Usage[costs.TokensIn] = append(f.tensor.Usage[costs.TokensIn], float32(i*i%37))
		f.tensor.Usage[costs.Calls] = append(f.tensor.Usage[costs.Calls], float32(1+i%2))
	}
	whole, err := prices.AtPrices(f.tensor, table)
	if err != nil {
		t.Fatal(err)
	}
	for _, periods := range table.Models {
		*periods[0].In, *periods[0].Call = *periods[0].In/2, *periods[0].Call/2
	}
	half, err := prices.AtPrices(f.tensor, table)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	list := storage.File(filepath.Join(f.dir, "half.json"))
	if err := os.WriteFile(list.String(), text, 0o666); err != nil {
		t.Fatal(err)
	}
	trained := func(name string, on *costs.Tensor) string {
		return f.policy(name, func(p *policy.Policy) { p.Info = map[string]string{policy.OriginKey: on.Digest()} })
	}
	policies := []string{trained("a.onnx", whole), trained("b.onnx", half)}
	f.tensor = half
	want := f.evalAt(nil, policies[1])
	f.tensor = whole
	o := DefaultOptions()
	o.Tensor, o.Policies, o.KNN, o.Resamples, o.PriceFile = storage.File(filepath.Join(f.dir, "table.parquet")), storage.Files(policies[1]), false, 100, list
	if before := f.evalAt(nil, policies[1]); stage.JSON(before.Rows) == stage.JSON(want.Rows) {
		t.Error("the prices do not matter")
	}
	got, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if stage.JSON(got.Rows) != stage.JSON(want.Rows) || stage.JSON(got.Verdict) != stage.JSON(want.Verdict) {
		t.Errorf("%s, not %s", stage.JSON(got.Rows), stage.JSON(want.Rows))
	}
	for _, file := range policies {
		o.Policies = storage.Files(file)
		if got, err = Run(t.Context(), o, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(got.Notes, "\n")
		if !strings.Contains(notes, "at the last prices in half.json") || strings.Contains(notes, "trained on another table") {
			t.Error(notes)
		}
	}
}

func (f *evalFiles) evalAt(lambdas []float64, policies ...string) *report.Report {
	f.t.Helper()
	table := filepath.Join(f.dir, "table.parquet")
	if err := costs.Write(f.t.Context(), storage.File(table), f.tensor); err != nil {
		f.t.Fatal(err)
	}
	o := DefaultOptions()
	o.Tensor, o.Policies, o.Lambdas, o.KNN, o.Resamples = storage.File(table), storage.Files(policies...), lambdas, false, 100
	r, err := Run(f.t.Context(), o, stage.Quiet)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// One any-price file is reported at every lambda that is asked, with the decisions of the files that its prices are
// fixed in.
func TestEvalOfAnAnyPricePolicy(t *testing.T) {
	orttest.Open(t, 1)
	f, lambdas := newEvalFiles(t), []float64{0, 0.5, 3, 10}
	file := f.anyPrice("any/auto-any-price.onnx", keepPolicy)
	r := f.evalAt(lambdas, file)
	for _, lambda := range lambdas {
		at := func(r *report.Report, method string) report.Row {
			i := slices.IndexFunc(r.Rows, func(row report.Row) bool { return row.Method == method && *row.Lambda == lambda })
			if i < 0 {
				t.Fatalf("no row of %s at lambda %g", method, lambda)
			}
			return r.Rows[i]
		}
		got := at(r, methods.AnyPrice)
		want := at(f.evalAt([]float64{lambda}, f.frozen(file, "fixed.onnx", lambda)), "auto")
		if got.TrueLossMean != want.TrueLossMean || *got.AdviceRate != *want.AdviceRate || *got.DiffBestFixed != *want.DiffBestFixed {
			t.Errorf("lambda %g: %+v, its file with fixed prices %+v", lambda, got, want)
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.Contains(n, "not checked on the prices at lambda 10: lambda 10 is not from 0 to 8")
	}) {
		t.Errorf("notes %q", r.Notes)
	}
	if slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "lambda 3:") || strings.Contains(n, "left out") }) {
		t.Errorf("notes %q", r.Notes)
	}
}

// Along the frontier, advice is bought less as lambda rises; the constant is the best of the training rows; a policy of
// its own with the same estimates is no better, and another one differs by the difference of the true losses.
func TestFrontier(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	file := f.anyPrice("any/auto-any-price.onnx", keepPolicy)
	same := f.frozen(file, "half.onnx", 0.5)
	other := f.policy("other.onnx", func(p *policy.Policy) { p.Method, p.Recipe, p.Lambda = "auto", "auto", 2 })
	r := f.evalAt([]float64{0.5, 2, 10}, file, same, other)
	points := map[string]map[float64]report.FrontierPoint{}
	for _, p := range r.Frontier {
		if points[p.Method] == nil {
			points[p.Method] = map[float64]report.FrontierPoint{}
		}
		points[p.Method][p.Lambda] = p
		if p.LossInterval == nil || p.MoneyInterval == nil || p.LossInterval.Low > p.Loss || p.LossInterval.High < p.Loss {
			t.Errorf("%s at lambda %g: intervals %v and %v", p.Method, p.Lambda, p.LossInterval, p.MoneyInterval)
		}
	}
	ours, constants := points[methods.AnyPrice], points["best_fixed_train"]
	if len(ours) != 8 || len(constants) != 8 || len(points["auto"]) != 2 {
		t.Fatalf("%d, %d and %d points", len(ours), len(constants), len(points["auto"]))
	}
	last := math.Inf(1)
	for _, lambda := range []float64{0, 0.25, 0.5, 1, 2, 4, 8, 10} {
		p := ours[lambda]
		if p.Money > last || p.ExpertFactor != 1 {
			t.Errorf("lambda %g: money %g after %g", lambda, p.Money, last)
		}
		last = p.Money
		if math.Abs(p.TrueLoss-(p.Loss+lambda*p.Money)) > 1e-9 { // experts are free here
			t.Errorf("lambda %g: %g is not %g + %g x %g", lambda, p.TrueLoss, p.Loss, lambda, p.Money)
		}
		sum, c := costs.Summarize(f.tensor, f.tensor.Rows(costs.Train), lambda), constants[lambda]
		if c.Pair != f.tensor.Actions.Name(sum.Best) {
			t.Errorf("lambda %g: the constant is %s", lambda, c.Pair)
		}
		if d := p.DiffConstant; d == nil || math.Abs(d.Mean-(p.TrueLoss-c.TrueLoss)) > 1e-9 {
			t.Errorf("lambda %g: difference %v of %g and %g", lambda, d, p.TrueLoss, c.TrueLoss)
		}
	}
	if ours[0].Money == 0 || ours[8].Money != 0 {
		t.Errorf("money %g at lambda 0, %g at 8", ours[0].Money, ours[8].Money)
	}
	if v := ours[0.5].Regret; v == nil || *v != (report.Interval{}) || ours[0.5].Own != "auto" {
		t.Errorf("regret %v against %q with the same decisions", v, ours[0.5].Own)
	}
	if v := ours[2].Regret; v == nil || math.Abs(v.Mean-(ours[2].TrueLoss-points["auto"][2].TrueLoss)) > 1e-9 || v.Low >= v.High {
		t.Errorf("regret %v", v)
	}
	if ours[1].Regret != nil {
		t.Errorf("regret %v without a policy for the lambda", ours[1].Regret)
	}
	checkFrontierFiles(t, r)
	checkConstants(t, f.tensor, r)
}

// Without an any-price policy the prices of the frontier are the lambdas of the report.
func TestFrontierOfLambdas(t *testing.T) {
	orttest.Open(t, 1)
	f := newEvalFiles(t)
	half := f.policy("half.onnx", func(p *policy.Policy) { p.Method, p.Recipe, p.Lambda = "auto", "auto", 0.5 })
	two := f.policy("two.onnx", func(p *policy.Policy) { p.Method, p.Recipe, p.Lambda = "auto", "auto", 2 })
	r := f.evalAt([]float64{0.5, 1, 2}, half, two)
	var got []string
	for _, p := range r.Frontier {
		got = append(got, fmt.Sprintf("%s %g", p.Method, p.Lambda))
		i := slices.IndexFunc(r.Rows, func(row report.Row) bool { return row.Method == p.Method && *row.Lambda == p.Lambda })
		if i < 0 || math.Abs(r.Rows[i].TrueLossMean-p.TrueLoss) > 1e-9 {
			t.Errorf("%s at lambda %g: true loss %g is not that of the methods", p.Method, p.Lambda, p.TrueLoss)
		}
	}
	if want := []string{"auto 0.5", "best_fixed_train 0.5", "auto 2", "best_fixed_train 2"}; !slices.Equal(got, want) {
		t.Errorf("points %q, want %q", got, want)
	}
	checkConstants(t, f.tensor, r)
}

// checkConstants compares the constants of a report with the means of the tensor.
func checkConstants(t *testing.T, tensor *costs.Tensor, r *report.Report) {
	t.Helper()
	sum, fees := costs.Summarize(tensor, tensor.Rows(costs.Val), 1), tensor.Actions.Fees(1)
	if len(r.Constants) != tensor.Actions.Len() {
		t.Fatalf("%d constants for %d pairs", len(r.Constants), tensor.Actions.Len())
	}
	for i, c := range r.Constants {
		if c.Pair != tensor.Actions.Name(i) || math.Abs(c.Loss-sum.TaskLoss[i]) > 1e-9 || math.Abs(c.Money-fees[i]) > 1e-9 {
			t.Errorf("%+v: loss %g, money %g", c, sum.TaskLoss[i], fees[i])
		}
		if v := c.LossInterval; v == nil || v.Low > c.Loss || v.High < c.Loss {
			t.Errorf("%s: interval %v", c.Pair, v)
		}
	}
}

// checkFrontierFiles checks every form of a report with a frontier.
func checkFrontierFiles(t *testing.T, r *report.Report) {
	t.Helper()
	var text, js, table bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "\nFrontier\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	if back, err := report.Read(&js); err != nil || len(back.Frontier) != len(r.Frontier) || *back.Frontier[0].LossInterval != *r.Frontier[0].LossInterval {
		t.Errorf("read back: %v", err)
	}
	if err := r.WriteFrontierCSV(&table); err != nil || strings.Count(table.String(), "\n") != len(r.Frontier)+1 {
		t.Errorf("%v\n%s", err, table.String())
	}
	dir := t.TempDir()
	if err := report.Write(t.Context(), storage.File(dir), r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"frontier.csv", "frontier.svg"} {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) != 1 {
			t.Errorf("no %s", name)
		}
	}
}

// Money falls as all fees rise together. Without fees of advice, these are the fees of experts; without any fee there is
// no frontier. Policies in memory have the same one.
func TestFrontierOfExperts(t *testing.T) {
	rt := orttest.Open(t, 1)
	f := newEvalFiles(t)
	var inMemory *policy.Policy
	var r *report.Report
	for _, fee := range []float64{0.08, 0} { // of advice
		f.tensor.Actions.Advice[1].Fee, f.tensor.Actions.Experts[0].Fee = fee, 0.1
		r = f.evalAt(nil, f.anyPrice("any.onnx", func(p *policy.Policy) { c := *p; inMemory = &c }))
		money, at := []float64(nil), []float64(nil)
		for _, p := range r.Frontier {
			if p.Method == methods.AnyPrice && p.Scale != nil {
				money, at = append(money, -p.Money), append(at, *p.Scale)
			}
		}
		if !slices.Equal(at, scales) || !slices.IsSorted(money) || money[0] == money[6] {
			t.Errorf("minus money %v at fees times %v", money, at)
		}
	}
	o := DefaultOptions()
	o.KNN, o.Resamples = false, 100
	again, err := Policies(t.Context(), rt, f.tensor, []*policy.Policy{inMemory}, o, stage.Quiet)
	if err != nil || len(again.Frontier) != len(r.Frontier) || again.Frontier[3].Loss != r.Frontier[3].Loss {
		t.Errorf("in memory: %v", err)
	}
	f.tensor.Actions.Experts[0].Fee = 0
	if r := f.evalAt(nil, f.anyPrice("free.onnx", keepPolicy)); len(r.Frontier) != 0 {
		t.Errorf("%d points without a fee", len(r.Frontier))
	}
}

// Where the guard of an any-price policy fell back, the report says so, as it does for a policy with one pair.
func TestEvalNotesAnAnyPriceFallback(t *testing.T) {
	f := newEvalFiles(t)
	fellBack := func(fallback bool) string {
		return policy.Guard{Rows: 10, Fixed: f.tensor.Actions.Name(0), Confidence: 0.84, Fallback: fallback, Draws: 3, Close: true}.JSON()
	}
	for _, fallback := range []bool{false, true} {
		file := f.anyPrice("any/auto-any-price.onnx", func(p *policy.Policy) { p.Info = map[string]string{policy.GuardKey: fellBack(fallback)} })
		r := f.evalAt([]float64{1}, file)
		if got := strings.Contains(strings.Join(r.Notes, "\n"), "takes the best fixed pair of every price"); got != fallback {
			t.Errorf("guard fell back: %v, notes %q", fallback, r.Notes)
		}
		e, err := inspect.File(t.Context(), storage.File(file), inspect.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(*inspect.PolicyExplanation).Verdict; !strings.Contains(got, "a mean over 3 draws of folds, and close: another seed") {
			t.Errorf("guard fell back: %v, verdict %q does not say that it is close", fallback, got)
		}
		if got := strings.HasPrefix(e.(*inspect.PolicyExplanation).Verdict, "this policy takes the best fixed pair of every price"); got != fallback {
			t.Errorf("guard fell back: %v, verdict %q", fallback, e.(*inspect.PolicyExplanation).Verdict)
		}
	}
}
