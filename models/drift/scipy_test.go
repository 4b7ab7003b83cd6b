package drift

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/judge"
)

// testCase is a pair of samples or of counts with our results.
type testCase struct {
	X, Y       []float32  `json:",omitempty"` // of Kolmogorov-Smirnov
	D, P       float64    // of them
	Exact      bool       // P is exact
	Ties       bool       // there are values that occur repeatedly
	A, B       []int64    `json:",omitempty"` // of homogeneity
	Chi, Ratio [2]float64 // statistic and P
	Fisher     float64    // of the first two counts
}

// runSciPy compares cases with SciPy. Its exact P of Kolmogorov-Smirnov ignores ties, which makes it larger: with ties it
// is an upper bound. Its limit has a correction, so ours is compared with the distribution itself.
const runSciPy = `
import json, sys
import numpy as np
from scipy import stats
wrong, kinds = 0, {"exact": 0, "limit": 0, "ties": 0, "chi": 0, "fisher": 0}
def check(kind, n, ours, theirs, rel=1e-9, within=0):
    global wrong
    kinds[kind] += 1
    if not abs(ours - theirs) <= rel * abs(theirs) + 1e-300 + within:
        wrong += 1
        if wrong < 10: print(kind, n, ours, theirs)
for n, c in enumerate(json.load(open(sys.argv[1]))):
    if "X" in c:
        method = "exact" if c["Exact"] else "asymp"
        r = stats.ks_2samp(np.array(c["X"]), np.array(c["Y"]), method=method)
        check("exact", n, c["D"], r.statistic, 1e-12)
        if c["Ties"]:
            kinds["ties"] += 1
            if c["Exact"] and c["P"] > r.pvalue * (1 + 1e-6):
                wrong += 1
                print("ties", n, c["P"], r.pvalue)
        elif c["Exact"]:
            check("exact", n, c["P"], r.pvalue, 1e-6, 1e-13) # SciPy subtracts, which leaves 1e-14
        else:
            k = stats.kstwobign.sf(c["D"] * np.sqrt(len(c["X"]) * len(c["Y"]) / (len(c["X"]) + len(c["Y"]))))
            check("limit", n, c["P"], k, 1e-8)
    else:
        table = np.array([c["A"], c["B"]])
        r = stats.chi2_contingency(table, correction=False)
        check("chi", n, c["Chi"][0], r.statistic); check("chi", n, c["Chi"][1], r.pvalue, 1e-8)
        r = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        check("chi", n, c["Ratio"][0], r.statistic, 1e-9, 1e-9); check("chi", n, c["Ratio"][1], r.pvalue, 1e-6)
        check("fisher", n, c["Fisher"], stats.fisher_exact(table[:, :2]).pvalue, 1e-7)
print("wrong", wrong, all(v >= 50 for v in kinds.values()) or kinds)
`

func TestAgainstSciPy(t *testing.T) {
	py := judge.Python(t, "scipy")
	random := rand.New(rand.NewPCG(5, 6))
	var cases []testCase
	for range 220 {
		cases = append(cases, ksCase(random), countCase(random))
	}
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, want := judge.Run(t, py, "", runSciPy, file), "wrong 0 True\n"; got != want {
		t.Error(got)
	}
}

// ksCase draws two samples, half of them small, some shifted, some of few different values.
func ksCase(random *rand.Rand) testCase {
	most := []int{20, 300, 2500}[random.IntN(3)]
	n, m := 1+random.IntN(most), 1+random.IntN(most)
	if most == 2500 {
		n, m = n+1000, m+1000
	}
	c := testCase{Ties: random.IntN(3) == 0}
	draw := func(n int, shift float32) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(random.NormFloat64()) + shift
			if c.Ties {
				out[i] = float32(int(out[i] * 2))
			}
		}
		return out
	}
	c.X, c.Y = draw(n, 0), draw(m, float32(random.IntN(3))*0.2)
	s := NewSample(c.X)
	counts := s.NewCounts()
	s.Count(counts, c.Y, 1)
	r := s.KS(counts)
	c.D, c.P, c.Exact = r.D, r.P, r.Exact
	return c
}

// countCase draws two lists of counts with at least 5 expected in every cell, so that none are joined.
func countCase(random *rand.Rand) testCase {
	k := 2 + random.IntN(6)
	c := testCase{A: make([]int64, k), B: make([]int64, k)}
	for i := range k {
		c.A[i], c.B[i] = int64(10+random.IntN(60)), int64(10+random.IntN(60))
	}
	chi, ratio := Homogeneity(c.A, c.B), HomogeneityG(c.A, c.B)
	c.Chi, c.Ratio = [2]float64{chi.Statistic, chi.P}, [2]float64{ratio.Statistic, ratio.P}
	c.Fisher = fisher(c.A[0], c.A[1], c.B[0], c.B[1])
	return c
}
