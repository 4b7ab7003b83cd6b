package drift

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/judge"
)

// adwinCase is a stream, the settings, and what the window is after every value.
type adwinCase struct {
	Settings   ADWINSettings `json:"settings"`
	Stream     []float64     `json:"stream"`
	Detected   []bool        `json:"detected"`
	Width      []int         `json:"width"`
	Estimation []float64     `json:"estimation"`
	Variance   []float64     `json:"variance"`
}

// runRiver compares a list of cases with river's ADWIN at every step, and prints what differs.
const runRiver = `
import json, sys
from river.drift import ADWIN
wrong = steps = detections = 0
for n, c in enumerate(json.load(open(sys.argv[1]))):
    s = c["settings"]
    a = ADWIN(delta=s["delta"], clock=s["clock"], max_buckets=s["max_buckets"], min_window_length=s["min_window_length"], grace_period=s["grace_period"])
    for i, x in enumerate(c["stream"]):
        a.update(x)
        steps += 1
        detections += a.drift_detected
        close = lambda u, v: abs(u - v) <= 1e-9 * (1 + abs(u))
        if a.drift_detected != c["detected"][i] or a.width != c["width"][i] or not close(a.estimation, c["estimation"][i]) or not close(a.variance, c["variance"][i]):
            wrong += 1
            if wrong < 5: print(n, i, s, a.drift_detected, c["detected"][i], a.width, c["width"][i], a.estimation, c["estimation"][i], a.variance, c["variance"][i])
            break
print("wrong", wrong, "steps", steps > 80000, "detections", detections > 100)
`

// streamOf draws a stream with a few changes of its mean, its spread or its kind.
func streamOf(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	mean, spread, kind := random.Float64(), random.Float64()*0.3, random.IntN(4)
	for i := range out {
		if random.IntN(400) == 0 {
			mean, spread = random.Float64(), random.Float64()*0.3
		}
		switch kind {
		case 0:
			out[i] = mean + spread*random.NormFloat64()
		case 1:
			if random.Float64() < mean {
				out[i] = 1
			}
		case 2:
			out[i] = mean // no noise at all
		default:
			out[i] = mean + float64(i)/float64(n)*random.Float64() // a slow drift
		}
	}
	return out
}

func TestADWINEqualsRiver(t *testing.T) {
	py := judge.Python(t, "river")
	random := rand.New(rand.NewPCG(1, 2))
	var cases []adwinCase
	for n := range 60 {
		c := adwinCase{Settings: DefaultADWIN(), Stream: streamOf(random, 300+random.IntN(2500))}
		if n%2 == 1 {
			c.Settings = ADWINSettings{
				Delta: math.Pow(10, -4*random.Float64()), Clock: 1 + random.IntN(40), MaxBuckets: 2 + random.IntN(8),
				MinWindowLength: 1 + random.IntN(20), GracePeriod: random.IntN(60),
			}
		}
		a, err := NewADWIN(c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Stream {
			c.Detected = append(c.Detected, a.Add(x))
			c.Width = append(c.Width, a.Width())
			c.Estimation = append(c.Estimation, a.Estimation())
			c.Variance = append(c.Variance, a.State().Squares)
		}
		cases = append(cases, c)
	}
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, want := judge.Run(t, py, "", runRiver, file), "wrong 0 steps True detections True\n"; got != want {
		t.Error(got)
	}
}

// Saved at any step and restored from JSON, the window goes on as if nothing had happened.
func TestADWINState(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	stream := streamOf(random, 4000)
	whole, _ := NewADWIN(DefaultADWIN())
	parts, _ := NewADWIN(DefaultADWIN())
	for i, x := range stream {
		whole.Add(x)
		parts.Add(x)
		if i%97 != 0 {
			continue
		}
		b, err := json.Marshal(parts.State())
		if err != nil {
			t.Fatal(err)
		}
		var s ADWINState
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		parts, _ = NewADWIN(DefaultADWIN())
		if err := parts.SetState(s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.State(), parts.State()); diff != "" {
			t.Fatal(diff)
		}
	}
	if whole.Detections() == 0 {
		t.Error("no change was found")
	}
}

func TestADWINRefuses(t *testing.T) {
	for _, s := range []ADWINSettings{{}, {Delta: 1, Clock: 1, MaxBuckets: 2, MinWindowLength: 1}, {Delta: math.NaN(), Clock: 1, MaxBuckets: 2, MinWindowLength: 1}} {
		if _, err := NewADWIN(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	a, _ := NewADWIN(DefaultADWIN())
	a.Add(1)
	before := a.State()
	for name, change := range map[string]func(*ADWINState){
		"no levels": func(s *ADWINState) { s.Levels = nil },
		"width":     func(s *ADWINState) { s.Width++ },
		"totals":    func(s *ADWINState) { s.Levels[0].Totals = nil },
		"total":     func(s *ADWINState) { s.Total = math.NaN() },
		"tick":      func(s *ADWINState) { s.Tick = -1 },
	} {
		s := a.State()
		change(&s)
		if a.SetState(s) == nil {
			t.Errorf("%s: a state that does not fit is accepted", name)
		}
	}
	if diff := cmp.Diff(before, a.State()); diff != "" {
		t.Error(diff)
	}
}
