package calibrate

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

func TestMain(m *testing.M) { orttest.Main(m) }

const dim = 4

// world draws rows whose losses are 1 with the probability that the policy estimates, times a factor.
func world(t *testing.T, rt *ort.Runtime, seed uint64, rows int, factor float64) *costs.Tensor {
	t.Helper()
	p := decidetest.AnyPrice(dim)
	random := rand.New(rand.NewPCG(seed, 1))
	w := &costs.Tensor{Actions: p.Actions, Dim: dim}
	for n := range rows {
		w.IDs, w.Splits = append(w.IDs, strconv.Itoa(n)), append(w.Splits, costs.Split(n%3))
		for range dim {
			w.Features = append(w.Features, float32(random.NormFloat64()))
		}
	}
	d, err := policy.NewDecider(rt, model(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	out, err := d.Decide(t.Context(), w.Features, rows)
	if err != nil {
		t.Fatal(err)
	}
	mask := p.Actions.Mask()
	for i, v := range out.Loss {
		loss := float32(0)
		if random.Float64() < factor*float64(v) {
			loss = 1
		}
		if !mask[i%len(mask)] {
			loss = float32(math.NaN())
		}
		w.Loss = append(w.Loss, loss)
	}
	return w
}

func model(t *testing.T) *onnx.Model {
	t.Helper()
	m, err := decidetest.AnyPrice(dim).Export()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func at(r float64) Settings {
	s := DefaultSettings()
	s.Risk = r
	return s
}

// The file accepts exactly what its guarantee says, at every price of it, and what it accepts on rows that did not calibrate has a
// mean loss of at most the risk, within the error of their number.
func TestPolicyAcceptsAtTheRisk(t *testing.T) {
	const alpha = 0.07
	rt := orttest.Open(t, 0)
	w := world(t, rt, 1, 9000, 1)
	for _, c := range []struct {
		name   string
		change func(*Settings)
		prices int
	}{
		{"default prices", func(*Settings) {}, 6},
		{"one price", func(s *Settings) { s.Lambdas = []float64{1} }, 1},
		{"random prices", func(s *Settings) { s.Random = true }, 1},
		{"rcps", func(s *Settings) { s.Method, s.Lambdas = risk.RCPS, []float64{0, 4} }, 2},
	} {
		s := at(alpha)
		c.change(&s)
		m, r, err := Policy(t.Context(), rt, model(t), w, costs.Val, s)
		if err != nil {
			t.Fatal(c.name, err)
		}
		d, err := policy.NewDecider(rt, m)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		g := d.Info().Guarantee
		if len(g.At) != c.prices || g.Rows != 3000 || g.Threshold == nil || (g.Law != "") != s.Random {
			t.Errorf("%s: %+v", c.name, g)
		}
		for _, v := range g.At {
			if v.Accepted < 0.1 || v.Accepted > 0.95 || *v.Loss > alpha {
				t.Errorf("%s: %+v", c.name, v)
			}
			out, err := d.DecideAt(t.Context(), d.Info().PriceAt(d.Info().Actions, v.Lambda, nil), w.Features, w.Len())
			if err != nil {
				t.Fatal(err)
			}
			sum, count, calibrated := 0.0, 0.0, 0.0
			for n, ok := range out.Accepted {
				switch {
				case !ok:
				case w.Splits[n] == costs.Val:
					calibrated++
				default:
					count++
					sum += float64(w.Loss[n*out.Actions+int(out.Action[n])])
				}
			}
			if c.name != "random prices" && math.Abs(calibrated/3000-v.Accepted) > 1e-9 {
				t.Errorf("%s: %v calibration rows are accepted, the guarantee says a share of %v", c.name, calibrated, v.Accepted)
			}
			if mean := sum / count; mean > alpha+2*math.Sqrt(alpha/count) {
				t.Errorf("%s, lambda %g: the mean loss of %v later decisions is %.4f", c.name, v.Lambda, count, mean)
			}
		}
		i := slices.IndexFunc(r.Reach, func(v risk.Reach) bool { return v.Risk == alpha })
		if i < 0 || *r.Reach[i].Accepted != g.At[0].Accepted && c.prices == 1 || r.Reach[i].Seen < *r.Reach[i].Accepted {
			t.Errorf("%s: reach %+v", c.name, r.Reach)
		}
	}
}

// Where the risk is easily reached, all is accepted, and the report says that nothing is lost.
func TestAllIsAcceptedOnAnEasyTable(t *testing.T) {
	rt := orttest.Open(t, 0)
	w := world(t, rt, 2, 3000, 0.05)
	for _, method := range []risk.Method{risk.LTT, risk.RCPS, risk.CRC} {
		s := at(0.2)
		s.Method = method
		m, r, err := Policy(t.Context(), rt, model(t), w, costs.Val, s)
		if err != nil {
			t.Fatal(err)
		}
		info, err := policy.Parse(m)
		if err != nil || info.Guarantee.Threshold != nil || info.Guarantee.At[0].Accepted != 1 || r.share() != "100.0%" {
			t.Errorf("%s: %+v %v", method, info.Guarantee, err)
		}
	}
}

// The largest loss may be a number that float32 has not exactly: what is accepted is the same as for losses of 0 and 1.
func TestBoundIsRounded(t *testing.T) {
	rt := orttest.Open(t, 0)
	w := world(t, rt, 1, 3000, 0.5)
	_, one, err := Policy(t.Context(), rt, model(t), w, costs.Val, at(0.05))
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Loss {
		w.Loss[i] *= 0.7
	}
	s := at(0.05 * 0.7)
	s.Bound = 0.7
	_, other, err := Policy(t.Context(), rt, model(t), w, costs.Val, s)
	if err != nil || other.Guarantee.At[0].Accepted != one.Guarantee.At[0].Accepted || *other.Guarantee.Threshold != *one.Guarantee.Threshold {
		t.Errorf("%+v and %+v, %v", one, other, err)
	}
	s.Bound, s.Risk = 3, 0.3
	if got := levels(s.Settings); !slices.Equal(got, []float64{0.03, 0.06, 0.15, 0.3, 0.45, 0.6, 0.9, 1.5}) {
		t.Errorf("%v", got)
	}
}

// Rows of one group are one sample: with ten rows in each, the same share is no longer shown to be safe.
func TestGroupsAreOneSample(t *testing.T) {
	rt := orttest.Open(t, 0)
	w := world(t, rt, 3, 6000, 1)
	s := at(0.1)
	_, alone, err := Policy(t.Context(), rt, model(t), w, costs.Val, s)
	if err != nil {
		t.Fatal(err)
	}
	w.Groups = make([]string, w.Len())
	for n := range w.Groups {
		w.Groups[n] = strconv.Itoa(n / 30) // ten rows of every split
	}
	_, grouped, err := Policy(t.Context(), rt, model(t), w, costs.Val, s)
	if err != nil {
		t.Fatal(err)
	}
	a, b := alone.Guarantee.At[0], grouped.Guarantee.At[0]
	if b.Samples > 200 || b.Accepted > a.Accepted {
		t.Errorf("alone %+v, in groups %+v", a, b)
	}
}

func TestRunWritesTheSameBytes(t *testing.T) {
	rt, dir := orttest.Open(t, 0), t.TempDir()
	o := DefaultOptions()
	o.Settings = at(0.1)
	o.Policy, o.Tensor = storage.File(decidetest.WritePolicy(t, decidetest.AnyPrice(dim))), storage.File(filepath.Join(dir, "costs.parquet"))
	fee := 0.3
	o.AbstainFee, o.Instead = &fee, "c"
	if err := costs.Write(t.Context(), o.Tensor, world(t, rt, 1, 3000, 0.5)); err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, name := range []string{"a.onnx", "b.onnx"} {
		o.Out = storage.File(filepath.Join(dir, name))
		r, err := Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a risk of at most 0.1 cannot be promised on this table with more than ", "what is not accepted is for c, at a fee of 0.3", "with a confidence of 95%"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the report lacks %q:\n%s", want, &text)
			}
		}
		b, err := os.ReadFile(o.Out.String())
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two runs differ")
	}
	about, err := decide.ReadDescription(t.Context(), decide.DescriptionFile(o.Out))
	if err != nil || about.Guarantee == nil || len(about.Promise) == 0 || about.Outputs[len(about.Outputs)-1].Name != policy.AcceptedOutput {
		t.Errorf("%+v %v", about, err)
	}
}

func TestWrongTables(t *testing.T) {
	rt := orttest.Open(t, 0)
	good := func() *costs.Tensor { return world(t, rt, 1, 900, 0.5) }
	var data *costs.DataError
	for _, c := range []struct {
		name string
		w    *costs.Tensor
		s    Settings
		want string
	}{
		{"no rows", func() *costs.Tensor {
			w := good()
			for n := range w.Splits {
				w.Splits[n] = costs.Test
			}
			return w
		}(), at(0.1), "there are no rows of split val"},
		{"a loss above the bound", func() *costs.Tensor {
			w := good()
			for i := range w.Loss {
				w.Loss[i] *= 2
			}
			return w
		}(), at(0.1), "is not from 0 to 1"},
		{"an unknown loss", func() *costs.Tensor {
			w := good()
			for i := range w.Loss {
				w.Loss[i] = float32(math.NaN())
			}
			return w
		}(), at(0.1), "is not known"},
		{"infeasible", world(t, rt, 1, 900, 2), at(0.01), "cannot be promised with a confidence of 95%"},
	} {
		_, _, err := Policy(context.Background(), rt, model(t), c.w, costs.Val, c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &data) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	var option *stage.OptionError
	s := at(0.1)
	s.Instead = "nobody I know"
	if _, _, err := Policy(t.Context(), rt, model(t), good(), costs.Val, s); !errors.As(err, &option) {
		t.Errorf("an unknown expert: %v", err)
	}
	fixed := decidetest.Policy(dim, 2)
	m, err := fixed.Export()
	if err != nil {
		t.Fatal(err)
	}
	s = at(0.1)
	s.Lambdas = []float64{2}
	if _, _, err := Policy(t.Context(), rt, m, good(), costs.Val, s); !errors.As(err, &option) || !errors.Is(err, policy.ErrFixedPrices) {
		t.Errorf("another price of fixed prices: %v", err)
	}
	o := DefaultOptions()
	o.Split = "train"
	if o.Validate() == nil {
		t.Error("training rows calibrate")
	}
}

// Random prices are those of the stated range, and their law is the same for every number of rows.
func TestRandomPrices(t *testing.T) {
	info, err := policy.Parse(model(t))
	if err != nil {
		t.Fatal(err)
	}
	law, prices := RandomPrices(info, 2000, 1)
	if !strings.Contains(law, "lambda uniform from 0 to 8") || !strings.Contains(law, "from 0.25 to 4") {
		t.Error(law)
	}
	var logs, lambdas float64
	for _, p := range prices {
		f := p.Experts[0] / info.Actions.Experts[0].Fee
		if f < 0.25 || f > 4 || p.Lambda < 0 || p.Lambda > 8 {
			t.Fatalf("%+v", p)
		}
		logs, lambdas = logs+math.Log(f)/2000, lambdas+p.Lambda/2000
	}
	if math.Abs(logs) > 0.1 || math.Abs(lambdas-4) > 0.2 {
		t.Errorf("mean of logarithms %v, of lambda %v", logs, lambdas)
	}
}
