package calibrate

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/risk"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/stage"
)

// Of a cascade, the guarantee is about the answer that it accepts in the end: the file accepts what its threshold says, and of rows that
// did not calibrate those have a mean loss of at most the risk, within the error of their number. Other files and options are refused.
func TestCascade(t *testing.T) {
	const alpha = 0.1
	rt, dir := orttest.Open(t, 0), t.TempDir()
	tensor := coststest.Looks(8000, 5)
	for n := range tensor.Splits { // 2,000 rows calibrate
		tensor.Splits[n] = costs.Split(n % 4 % 3)
	}
	for n := range tensor.Len() { // small is wrong where it is not quite sure
		if sure := tensor.Facts[0].Data[4*n]; sure < 0.85 {
			tensor.Loss[4*n] = 1
		}
	}
	m, err := cascadetest.Looks(tensor, 1).Export()
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Policy, o.Tensor, o.Out = storage.File(filepath.Join(dir, "cascade.onnx")), storage.File(filepath.Join(dir, "costs.parquet")), storage.File(filepath.Join(dir, "guarded.onnx"))
	o.Settings, o.Instead = at(alpha), "large/search"
	if err := errors.Join(m.WriteFile(o.Policy.String()), costs.Write(t.Context(), o.Tensor, tensor)); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := r.Guarantee
	if len(g.At) != 1 || g.At[0].Lambda != 1 || g.Threshold == nil || g.At[0].Accepted < 0.3 || *g.At[0].Loss > alpha || g.Instead.Name != "large/search" {
		t.Fatalf("%+v", g)
	}
	d, err := cascade.Open(rt, o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	later := tensor.Rows(costs.Test)
	played, err := cascade.Play(t.Context(), d, tensor, later, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, count := 0.0, 0.0
	for n, accepted := range played.Guaranteed {
		if accepted != (played.Expected[n] <= float32(*g.Threshold)) {
			t.Fatalf("row %d: %v at %g", n, accepted, played.Expected[n])
		}
		if accepted {
			sum, count = sum+played.Loss[n], count+1
		}
	}
	if count < 0.2*float64(len(later)) || count > 0.99*float64(len(later)) || sum/count > alpha+3*math.Sqrt(alpha/count) {
		t.Errorf("%g of %d later rows are accepted, with a mean loss of %.4f", count, len(later), sum/count)
	}
	o.Policy, o.Out = o.Out, storage.File(filepath.Join(dir, "again.onnx"))
	if _, err := Run(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), "guarantee already") {
		t.Error("a second guarantee:", err)
	}
	var option *stage.OptionError
	s := at(alpha)
	s.Random = true
	if _, _, err := Policy(t.Context(), rt, m, tensor, costs.Val, s); !errors.As(err, &option) {
		t.Error("random prices:", err)
	}
	var data *costs.DataError
	tensor.Facts = nil
	if _, _, err := Policy(t.Context(), rt, m, tensor, costs.Val, at(alpha)); !errors.As(err, &data) || !strings.Contains(err.Error(), "observed_confidence") {
		t.Error("a table without facts:", err)
	}
}

// A promise that no policy can keep is refused before one is there, with the reason. What is said of others is right: the shares and losses of the
// best pairs.
func TestPossible(t *testing.T) {
	tensor := coststest.Looks(400, 6) // 100 rows calibrate
	var infeasible *InfeasibleError
	for risk, want := range map[float64]string{0.02: "100 rows are too few: with no error at all it takes 149", 0.05: ""} {
		e, err := Possible(tensor, costs.Val, at(risk))
		if want != "" {
			if !errors.As(err, &infeasible) || !strings.Contains(err.Error(), want) || infeasible.Hint() == "" {
				t.Errorf("%g: %v", risk, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		oracle, fixed := 0.0, make([]float64, 4)
		for _, n := range tensor.Rows(costs.Val) {
			best := 1.0
			for i, v := range tensor.Losses(n) {
				best = min(best, float64(v))
				fixed[i] += float64(v) / 100
			}
			oracle += best / 100
		}
		if e.Samples != 100 || e.Rows != 100 || math.Abs(e.Oracle-oracle) > 1e-9 || math.Abs(e.Loss-min(fixed[2], fixed[3])) > 1e-9 || !strings.HasPrefix(e.Fixed, "large/") || e.Accepted != 1 {
			t.Errorf("%+v, want %g and %v", e, oracle, fixed)
		}
		if text := e.String(); !strings.Contains(text, "100.0% of the 100 rows") || !strings.Contains(text, e.Fixed) {
			t.Error(text)
		}
	}
	row := tensor.Rows(costs.Val)[0]
	for i := 2; i < 4; i++ {
		tensor.Loss[4*row+i] = float32(math.NaN())
	}
	e, err := Possible(tensor, costs.Val, at(0.05))
	if err != nil || e.Unknown != 2 || !strings.HasPrefix(e.Fixed, "small/") {
		t.Fatalf("%+v, %v", e, err)
	}
	if text := e.String(); !strings.Contains(text, "if the 2 losses that are not known are 0, and the best fixed pair of those whose losses are all known, small/") {
		t.Error(text)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range tensor.Loss {
		tensor.Loss[i] = float32(random.IntN(2))
		if i%4 > 0 {
			tensor.Loss[i] = tensor.Loss[i-i%4] // all pairs are wrong on the same half of the rows
		}
	}
	if e, err := Possible(tensor, costs.Val, at(0.1)); err != nil || e.Accepted > 0.65 || e.Accepted < 0.3 {
		t.Errorf("%+v, %v", e, err)
	}
	for i := range tensor.Loss {
		tensor.Loss[i] = 1
	}
	if _, err := Possible(tensor, costs.Val, at(0.1)); !errors.As(err, &infeasible) || !strings.Contains(err.Error(), "errs too often") {
		t.Error(err)
	}
}

// With conformal risk control, of two rows that belong together one can be accepted alone, and the other counts as 0.
func TestPossibleTogether(t *testing.T) {
	tensor := coststest.Looks(400, 6)
	for i := range tensor.Loss {
		tensor.Loss[i] = 0.3
	}
	for n := range tensor.Len() {
		tensor.Groups = append(tensor.Groups, strconv.Itoa(n/8)) // two rows of each split
	}
	s := at(0.2)
	s.Method = risk.CRC
	if e, err := Possible(tensor, costs.Val, s); err != nil || e.Samples != 50 || e.Accepted != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	s.Method = risk.LTT
	var infeasible *InfeasibleError
	if _, err := Possible(tensor, costs.Val, s); !errors.As(err, &infeasible) {
		t.Error(err)
	}
}
