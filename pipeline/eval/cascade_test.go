package eval

import (
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
	"pipe/models/cascade/cascadetest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// cascadeWorld writes a table and cascades for it, one per lambda, and returns options that evaluate them.
func cascadeWorld(t *testing.T, lambdas ...float64) (*costs.Tensor, Options) {
	t.Helper()
	orttest.Open(t, 1) // skips without the runtime
	dir, tensor := t.TempDir(), coststest.Looks(2000, 5)
	for i := range tensor.Loss {
		tensor.Fee = append(tensor.Fee, float32(i%7)/1000)
	}
	o := DefaultOptions()
	o.Tensor, o.KNN, o.Findings = storage.File(filepath.Join(dir, "costs.parquet")), false, false
	if err := costs.Write(t.Context(), o.Tensor, tensor); err != nil {
		t.Fatal(err)
	}
	for _, lambda := range lambdas {
		m, err := cascadetest.Looks(tensor, lambda).Export()
		if err != nil {
			t.Fatal(err)
		}
		path := storage.File(filepath.Join(dir, "cascade-lambda"+string(rune('0'+int(lambda)))+".onnx"))
		if err := m.WriteFile(path.String()); err != nil {
			t.Fatal(err)
		}
		o.Policies = append(o.Policies, path)
	}
	return tensor, o
}

// byHand is what the rule of the cascade costs on the rows of a split, computed from the table alone, where fees of experts are multiplied by
// a factor and no advice is bought.
func byHand(t *costs.Tensor, rows []int, factor float64) (p report.CascadePaid, twice float64) {
	all := float64(len(rows))
	for _, n := range rows {
		loss, measured, fees := t.Losses(n)[0], float64(t.Fee[4*n]), 0.02
		if 1-t.Facts[0].Data[4*n] > float32(0.05+0.2*factor) {
			loss, measured, fees = t.Losses(n)[2], measured+float64(t.Fee[4*n+2]), fees+0.2
			twice += 1 / all
		}
		p.Loss += float64(loss) / all
		p.Money += (fees + measured) / all
		p.TrueLoss += (float64(loss) + factor*fees + measured) / all
	}
	return p, twice
}

// A report says of a cascade what a plain computation from the table says: losses of the accepted answers, fees of all executed pairs, and
// the shares of stages, beside the best fixed pair and the oracle; and the same figures in the table of methods and in the frontier.
func TestCascadeReport(t *testing.T) {
	tensor, o := cascadeWorld(t, 1, 3)
	r, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	want, twice := byHand(tensor, tensor.Rows(costs.Val), 1)
	if len(r.Cascades) != 2 {
		t.Fatalf("%d cascades", len(r.Cascades))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	for i, lambda := range []float64{1, 3} {
		c := r.Cascades[i]
		if c.Lambda != lambda || !near(c.Paid.Loss, want.Loss) || !near(c.Paid.Money, want.Money) || !near(c.Paid.TrueLoss, want.TrueLoss) || !near(c.Share[1], twice) || !near(c.Share[0]+c.Share[1], 1) {
			t.Errorf("%+v, want %+v and %g of the rows twice", c, want, twice)
		}
		fixed := costs.Summarize(tensor, tensor.Rows(costs.Train), lambda).Best
		val := costs.Summarize(tensor, tensor.Rows(costs.Val), lambda)
		if o := c.Others; len(o) != 2 || o[0].Name != tensor.Actions.Name(fixed) || !near(o[0].Paid.TrueLoss, val.Cost[fixed]) || o[1].Role != report.CascadeOracle ||
			!near(o[1].Paid.TrueLoss, val.Oracle) || !near(o[0].Diff.Mean, want.TrueLoss-val.Cost[fixed]) || o[0].Diff.High >= 0 {
			t.Errorf("compared with %+v", o)
		}
		if use := c.Pairs; len(use) != 2 || use[0].Pair != "small/none" || use[0].First != 1 || !near(use[0].Executed, 1) || !near(use[1].Accepted, twice) || !near(use[0].Accepted*(*use[0].Loss)+use[1].Accepted*(*use[1].Loss), want.Loss) {
			t.Errorf("pairs %+v", use)
		}
		row := slices.IndexFunc(r.Rows, func(v report.Row) bool { return v.Method == "cascade_2" && *v.Lambda == lambda })
		if row < 0 || !near(r.Rows[row].TrueLossMean, want.TrueLoss) || *r.Rows[row].AdviceRate != 0 {
			t.Errorf("the table of methods has %+v", r.Rows)
		}
		at := slices.IndexFunc(r.Frontier, func(p report.FrontierPoint) bool { return p.Method == "cascade_2" && p.Lambda == lambda })
		if at < 0 || !near(r.Frontier[at].Loss, want.Loss) || !near(r.Frontier[at].Money, want.Money) || r.Frontier[at].DiffConstant == nil {
			t.Errorf("the frontier has %+v", r.Frontier)
		}
	}
	b, err := os.ReadFile(o.Policies[0].String())
	if err == nil {
		err = os.WriteFile(o.Policies[1].String(), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o, stage.Quiet); err == nil || !strings.Contains(err.Error(), "is a second cascade of 2 stages at lambda 1") {
		t.Errorf("the same twice: %v", err)
	}
	blind := *tensor
	blind.Facts = nil
	if err := costs.Write(t.Context(), o.Tensor, &blind); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o, stage.Quiet); err == nil || !strings.Contains(err.Error(), "does not say what can be seen of answers") {
		t.Errorf("without facts: %v", err)
	}
}

// An any-price cascade is reported at every lambda, and in the frontier at factors on all fees: its losses, money and shares are those of a
// plain computation. It is compared with the cascade for one lambda alone where there is one.
func TestAnyPriceCascadeReport(t *testing.T) {
	tensor, o := cascadeWorld(t, 1)
	m, err := cascadetest.AnyPrice(tensor).Export()
	if err != nil {
		t.Fatal(err)
	}
	file := storage.File(filepath.Join(t.TempDir(), "cascade-any-price.onnx"))
	if err := m.WriteFile(file.String()); err != nil {
		t.Fatal(err)
	}
	o.Policies, o.Lambdas = append(o.Policies, file), []float64{1, 2, 9}
	r, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	var reported []float64
	for _, c := range r.Cascades {
		want, twice := byHand(tensor, tensor.Rows(costs.Val), 1)
		if !near(c.Paid.Loss, want.Loss) || !near(c.Paid.TrueLoss, want.TrueLoss) || !near(c.Share[1], twice) {
			t.Errorf("%+v, want %+v and %g of the rows twice", c, want, twice)
		}
		if c.Policy == "cascade-any-price.onnx" {
			reported = append(reported, c.Lambda)
		}
	}
	if !slices.Equal(reported, o.Lambdas) {
		t.Errorf("reported at lambda %v", reported)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "cascade-any-price.onnx was not checked on the prices at lambda 9: lambda 9 is not from 0 to 8") || strings.Contains(notes, "at lambda 2:") {
		t.Errorf("notes %s", notes)
	}
	var factors []float64
	for _, p := range r.Frontier {
		if p.Method != "any_price_cascade_2" {
			continue
		}
		if p.Scale != nil {
			factors = append(factors, *p.Scale)
		}
		want, twice := byHand(tensor, tensor.Rows(costs.Val), p.ExpertFactor)
		if !near(p.Loss, want.Loss) || !near(p.Money, want.Money) || !near(p.TrueLoss, want.TrueLoss) || len(p.Share) != 2 || !near(p.Share[1], twice) || p.DiffConstant == nil {
			t.Errorf("%+v, want %+v and %g of the rows twice", p, want, twice)
		}
		if own := p.Own == "cascade_2" && p.Regret != nil && p.Regret.Mean == 0; own != (p.Lambda == 1 && p.ExpertFactor == 1) {
			t.Errorf("at lambda %g and %g times the fees of experts the regret is %v against %q", p.Lambda, p.ExpertFactor, p.Regret, p.Own)
		}
	}
	if !slices.Equal(factors, scales) {
		t.Errorf("factors on all fees %v", factors)
	}
	o.Policies = append(o.Policies, file)
	if _, err := Run(t.Context(), o, stage.Quiet); err == nil || !strings.Contains(err.Error(), "is a second cascade of 2 stages for any price") {
		t.Errorf("the same twice: %v", err)
	}
}

// Lambda multiplies the fees of all advice that was bought, and money has them once.
func TestPlayedAdvice(t *testing.T) {
	tensor := coststest.Looks(4, 6)
	c := &played{info: &cascade.Info{Actions: tensor.Actions, Stages: 2}, Played: &cascade.Played{Order: [][]int{{1, 3}, {0}}, Accepted: []int{3, 0}}}
	e := &evaluation{t: tensor, rows: []int{2, 3}}
	p := e.playedPaid(c, tensor.Actions, 4)
	wantMoney, wantFees := []float64{0.02 + 0.05 + 0.2 + 0.05, 0.02}, []float64{0.02 + 0.2 + 4*2*0.05, 0.02}
	for k, n := range e.rows {
		loss := float64(tensor.Losses(n)[c.Accepted[k]])
		if p.loss[k] != loss || math.Abs(p.money[k]-wantMoney[k]) > 1e-12 || math.Abs(p.cost[k]-loss-wantFees[k]) > 1e-12 {
			t.Errorf("row %d: %g, %g, %g; want %g, %g, %g", n, p.loss[k], p.money[k], p.cost[k], loss, wantMoney[k], loss+wantFees[k])
		}
	}
	if rate := e.adviceRate(c); rate != 0.5 {
		t.Errorf("advice on %g of the rows", rate)
	}
}

// Of a cascade with a guarantee, the report says what share is accepted and what that loses, as computed from the table alone.
func TestGuaranteeReport(t *testing.T) {
	tensor, o := cascadeWorld(t, 1)
	path := o.Policies[0].String()
	m, _, err := cascade.Read(path)
	if err == nil {
		m, err = cascadetest.Guarded(m, 0.1)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	rows, accepted, sum := tensor.Rows(costs.Val), 0.0, 0.0
	for _, n := range rows {
		switch says := 1 - tensor.Facts[0].Data[4*n]; {
		case says <= 0.1:
			accepted, sum = accepted+1, sum+float64(tensor.Losses(n)[0])
		case says > 0.25: // large answers, at an expected loss of 0.05
			accepted, sum = accepted+1, sum+float64(tensor.Losses(n)[2])
		}
	}
	g := r.Cascades[0].Guarantee
	if g == nil || g.Risk != 0.2 || g.Loss == nil || math.Abs(g.Accepted-accepted/float64(len(rows))) > 1e-9 || math.Abs(*g.Loss-sum/accepted) > 1e-9 {
		t.Fatalf("%+v, want %g with %g", g, accepted/float64(len(rows)), sum/accepted)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "it promises at most 0.2.") {
		t.Errorf("%v\n%s", err, &text)
	}
	if m, err = cascadetest.AnyPrice(tensor).Export(); err == nil {
		m, err = cascadetest.Guarded(m, 0.1)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Lambdas = []float64{1, 2}
	if r, err = Run(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cascades {
		if c.Guarantee == nil || c.Guarantee.Other != (c.Lambda == 2) || math.Abs(c.Guarantee.Accepted-g.Accepted) > 1e-9 {
			t.Errorf("at lambda %g: %+v", c.Lambda, c.Guarantee)
		}
	}
	text.Reset()
	if err := r.WriteText(&text); err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "it promises at most 0.2 at other prices, and nothing at these.") {
		t.Errorf("%v\n%s", err, &text)
	}
}
