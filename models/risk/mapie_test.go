package risk

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
)

//go:embed testdata/mapie_judge.py
var mapieJudge string

// mapieCase has our results on random scores and losses. Thresholds are named by their index, -1 is none.
type mapieCase struct {
	Scores     []float32
	Losses     []float64
	Thresholds []float32
	Alpha      float64
	Delta      float64
	Starts     int
	Binary     bool
	P          []float64
	Conformal  []float64
	LTT, CRC   int
	Bound      float64 // of the first 200 losses
}

func TestAgainstMAPIE(t *testing.T) {
	py := judge.Python(t, "mapie", "scipy")
	random := rand.New(rand.NewPCG(35, 3))
	var cases []mapieCase
	for range 60 {
		cases = append(cases, newMAPIECase(t, random))
	}
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	got := judge.Run(t, py, "", "import warnings; warnings.simplefilter('ignore')\n"+mapieJudge, file)
	t.Log(got)
	if !strings.Contains(got, "wrong [] ") || !regexp.MustCompile(`betting bound of MAPIE:\d`).MatchString(got) || !regexp.MustCompile(`CRC:\d\d`).MatchString(got) {
		t.Error(got)
	}
}

// newMAPIECase draws scores and losses that are larger for larger scores, and counts of losses from 0 to 1.
func newMAPIECase(t *testing.T, random *rand.Rand) mapieCase {
	c := mapieCase{Alpha: []float64{0.02, 0.05, 0.1, 0.25}[random.IntN(4)], Delta: []float64{0.05, 0.1}[random.IntN(2)], Starts: 1 + random.IntN(7), Binary: random.IntN(2) == 0}
	rows, hard := 50+random.IntN(900), random.Float64()*0.8
	others := make([]float32, 500)
	for i := range others {
		others[i] = random.Float32()
	}
	c.Thresholds = Thresholds(others)
	c.Thresholds[len(c.Thresholds)-1] = 2 // JSON has no infinity
	for range rows {
		s := random.Float32()
		loss := 0.0
		if random.Float64() < hard*math.Pow(float64(s), 2) {
			loss = 1
		}
		if !c.Binary {
			loss = min(1, max(0, math.Pow(float64(s), 2)*hard+0.05*random.NormFloat64()))
		}
		c.Scores, c.Losses = append(c.Scores, s), append(c.Losses, loss)
	}
	r := Rows{At: []Decisions{{c.Scores, c.Losses}}, Cluster: make([]int, rows), Binary: c.Binary}
	for n := range rows {
		r.Cluster[n] = n
	}
	s := Settings{Risk: c.Alpha, Confidence: 1 - c.Delta, Method: LTT, Bound: 1, Starts: c.Starts}
	for _, threshold := range c.Thresholds {
		losses, _ := s.losses(threshold, r.At[0], r.Cluster)
		c.P = append(c.P, hoeffdingBentkus(total(losses), len(losses), c.Alpha, c.Binary))
		joint := s
		joint.Method = CRC
		losses, _ = joint.losses(threshold, r.At[0], r.Cluster)
		c.Conformal = append(c.Conformal, conformal(total(losses), len(losses)))
	}
	c.LTT = chosen(t, c.Thresholds, r, s)
	s.Method = CRC
	c.CRC = chosen(t, c.Thresholds, r, s)
	c.Bound = bettingBound(c.Losses[:min(200, rows)], c.Delta)
	return c
}

func chosen(t *testing.T, thresholds []float32, r Rows, s Settings) int {
	t.Helper()
	c, ok, err := Choose(thresholds, r, s)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return -1
	}
	return slices.Index(thresholds, c.Threshold)
}

// bettingBound is the smallest r against which bets win, an upper bound of the expectation; 1 if they win against none.
func bettingBound(losses []float64, delta float64) float64 {
	if !betsWin(losses, 1, delta) {
		return 1
	}
	low, high := 0.0, 1.0 // wealth grows with R
	for range 50 {
		if m := (low + high) / 2; betsWin(losses, m, delta) {
			high = m
		} else {
			low = m
		}
	}
	return high
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}
