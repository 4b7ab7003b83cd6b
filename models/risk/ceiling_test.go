package risk

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Whatever is decided, and whatever it is scored by, a promise is kept for at most the share of the ceiling. The best decisions, scored by
// their losses, come near it.
func TestCeilingIsOne(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	kept, tight := 0, 0
	for range 3000 {
		n, binary := 20+random.IntN(400), random.IntN(2) == 0
		s := DefaultSettings()
		s.Method = []Method{LTT, RCPS, CRC}[random.IntN(3)]
		s.Risk, s.Starts, s.Bound = 0.02+0.3*random.Float64(), 1+random.IntN(5), 1
		hard := random.Float64()
		best, rows, oracle := make([]float64, n), Rows{At: []Decisions{{}}, Binary: binary}, Rows{At: []Decisions{{}}, Binary: binary}
		for i := range best {
			loss := math.Pow(random.Float64(), 3) * hard
			if binary {
				loss = math.Round(loss)
			}
			chosen := loss
			if random.IntN(4) == 0 {
				chosen = 1
			}
			best[i] = loss
			score := float32(loss + 0.3*random.NormFloat64())
			rows.At[0].Loss, rows.At[0].Score, rows.Cluster = append(rows.At[0].Loss, chosen), append(rows.At[0].Score, score), append(rows.Cluster, i)
			oracle.At[0].Loss, oracle.At[0].Score, oracle.Cluster = append(oracle.At[0].Loss, loss), append(oracle.At[0].Score, float32(loss)), append(oracle.Cluster, i)
		}
		c, err := CeilingOf(best, binary, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Rows{rows, oracle} {
			at := Thresholds(r.At[0].Score)
			got, ok, err := Choose(at, r, s)
			if err != nil {
				t.Fatal(err)
			}
			if ok && got.Share() > c.Accepted+1e-12 {
				t.Fatalf("%+v: %g are accepted, the ceiling is %+v", s, got.Share(), c)
			}
			if ok {
				if kept++; got.Share() > 0.9*c.Accepted {
					tight++
				}
			}
		}
		if n < c.Least && c.Accepted > 0 {
			t.Fatalf("%+v: %+v", s, c)
		}
	}
	if kept < 1000 || tight < 200 {
		t.Errorf("%d kept, %d of them near the ceiling", kept, tight)
	}
}

// The fewest rows are those that show the risk, and one less does not.
func TestFewestRows(t *testing.T) {
	for _, method := range []Method{LTT, RCPS, CRC} {
		for _, alpha := range []float64{0.005, 0.01, 0.05, 0.1, 0.3} {
			s := DefaultSettings()
			s.Method, s.Risk = method, alpha
			n := s.least()
			for _, rows := range []int{n - 1, n} {
				c, err := CeilingOf(make([]float64, rows), true, s)
				if err != nil || (c.Accepted > 0) != (rows == n) || c.Accepted > 0 && c.Accepted != 1 {
					t.Errorf("%s at %g with %d rows: %+v, %v", method, alpha, rows, c, err)
				}
			}
		}
	}
	s := DefaultSettings()
	s.Risk = 0.05
	if n := s.least(); n != 59 { // (1 - 0.05)^59 is below 0.05
		t.Error(n)
	}
	if _, err := CeilingOf([]float64{2}, true, s); err == nil {
		t.Error("a loss above the bound")
	}
}
