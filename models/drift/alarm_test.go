package drift

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draws are distributions in [0, 1] with a given mean.
var draws = map[string]func(random *rand.Rand, mean float64) float64{
	"0 or 1": func(random *rand.Rand, mean float64) float64 {
		if random.Float64() < mean {
			return 1
		}
		return 0
	},
	"uniform": func(random *rand.Rand, mean float64) float64 { return mean + (random.Float64()-0.5)*0.2 },
	"mixed": func(random *rand.Rand, mean float64) float64 {
		if random.Float64() < 0.2 {
			return mean + (2*random.Float64()-1)*min(mean, 1-mean)
		}
		return mean
	},
}

// risesAt is the number of the value at which an alarm rises; 0 if it does not within n.
func risesAt(level, alpha float64, n int, value func(i int) float64) int64 {
	a, err := NewAlarm(level, alpha)
	if err != nil {
		panic(err)
	}
	for i := range n {
		if a.Add(value(i)) {
			return a.Risen()
		}
	}
	return 0
}

// While the mean is at the level, the alarm rises in at most a share alpha of all streams, also if each value depends on
// those before it.
func TestAlarmRisesRarely(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const streams, n, alpha = 1000, 1000, 0.05
	for name, draw := range draws {
		for _, level := range []float64{0.11, 0.5, 0.85} {
			risen := 0
			for s := range streams {
				random := rand.New(rand.NewPCG(uint64(s), uint64(level*100)))
				if risesAt(level, alpha, n, func(int) float64 { return draw(random, level) }) > 0 {
					risen++
				}
			}
			t.Logf("%s, level %v: %.4f", name, level, float64(risen)/streams)
			if risen > mostFalse(streams, alpha) {
				t.Errorf("%s, level %v: the alarm rose in %d of %d streams", name, level, risen, streams)
			}
		}
	}
	risen := 0
	for s := range streams {
		random := rand.New(rand.NewPCG(uint64(s), 1))
		last := 0.0
		if risesAt(0.3, alpha, n, func(int) float64 {
			spread := 0.01 + 0.28*last // values spread more after a large one, around the same mean
			last = 0.3 + spread*(2*random.Float64()-1)
			return last
		}) > 0 {
			risen++
		}
	}
	if risen > mostFalse(streams, alpha) {
		t.Errorf("dependent values: the alarm rose in %d of %d streams", risen, streams)
	}
}

// The alarm finds a shift soon, whether it is there from the start or comes late.
func TestAlarmFindsShifts(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const streams = 60
	for _, c := range []struct {
		level, before, after float64
		at, within           int
	}{
		{0.2, 0.2, 0.3, 0, 600}, {0.2, 0.2, 0.5, 0, 60}, {0.25, 0.2, 0.3, 5000, 3500}, {0.25, 0.2, 0.6, 20000, 150}, {0.05, 0.03, 0.1, 2000, 1500},
	} {
		t.Run(fmt.Sprintf("%v to %v at %d", c.before, c.after, c.at), func(t *testing.T) {
			found, delay := 0, 0.0
			for s := range streams {
				random := rand.New(rand.NewPCG(uint64(s), 77))
				at := int(risesAt(c.level, 0.025, c.at+c.within, func(i int) float64 {
					if i < c.at {
						return draws["0 or 1"](random, c.before)
					}
					return draws["0 or 1"](random, c.after)
				}))
				if at > c.at {
					found++
					delay += float64(at - c.at)
				}
			}
			t.Logf("found in %d of %d streams, after %.0f values on average", found, streams, delay/float64(max(1, found)))
			if found < streams*9/10 {
				t.Errorf("found in %d of %d streams within %d values", found, streams, c.within)
			}
		})
	}
}

// The evidence is a fair game: over all streams of two values its mean is 1 at every length.
func TestAlarmIsFair(t *testing.T) {
	const level, n = 0.3, 12
	for length := 1; length <= n; length++ {
		mean := 0.0
		for mask := range 1 << length {
			a, _ := NewAlarm(level, 0.05)
			p := 1.0
			for i := range length {
				one := float64(mask >> i & 1)
				a.Add(one)
				p *= one*level + (1-one)*(1-level)
			}
			mean += p * a.Evidence()
		}
		if math.Abs(mean-1) > 1e-9 {
			t.Errorf("after %d values the mean evidence is %v", length, mean)
		}
	}
}

func TestAlarmState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	whole, _ := NewAlarm(0.4, 0.05)
	parts, _ := NewAlarm(0.4, 0.05)
	for i := range 500 {
		x := random.Float64()
		whole.Add(x)
		b, err := json.Marshal(parts.State())
		if err != nil {
			t.Fatal(err)
		}
		var s AlarmState
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		parts, _ = NewAlarm(0.4, 0.05)
		if err := parts.SetState(s); err != nil {
			t.Fatalf("after %d values: %v", i, err)
		}
		parts.Add(x)
	}
	if diff := cmp.Diff(whole.State(), parts.State()); diff != "" || whole.Risen() == 0 || whole.State().N != 500 {
		t.Error(diff, whole.Risen())
	}
	for name, change := range map[string]func(*AlarmState){
		"count": func(s *AlarmState) { s.N = -1 }, "at": func(s *AlarmState) { s.At = s.N + 1 }, "bets": func(s *AlarmState) { s.Wealth = s.Wealth[1:] },
		"wealth": func(s *AlarmState) { s.Wealth[0] = math.NaN() }, "peak": func(s *AlarmState) { s.Peak = math.NaN() }, "none": func(s *AlarmState) { s.N = 0 },
	} {
		s := whole.State()
		change(&s)
		if whole.SetState(s) == nil {
			t.Errorf("%s: a state that does not fit is accepted", name)
		}
	}
	for _, level := range []float64{0, 1, math.NaN()} {
		if _, err := NewAlarm(level, 0.05); err == nil {
			t.Errorf("level %v is accepted", level)
		}
	}
}

// single are sets of one value.
func single(values []float64) (sums []float64, sizes []int) {
	sizes = make([]int, len(values))
	for i := range sizes {
		sizes[i] = 1
	}
	return values, sizes
}

// The bound is below the mean in at most a share alpha of all samples, and close to it for many values.
func TestUpperBoundCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const samples, alpha = 500, 0.05
	for name, draw := range draws {
		for _, mean := range []float64{0.11, 0.5, 0.85} {
			missed, wide := 0, 0.0
			for s := range samples {
				random := rand.New(rand.NewPCG(uint64(s), uint64(1000*mean)))
				values := make([]float64, 60)
				for i := range values {
					values[i] = min(1, max(0, draw(random, mean)))
				}
				sums, sizes := single(values)
				bound, err := UpperBound(sums, sizes, alpha)
				if err != nil {
					t.Fatal(err)
				}
				if bound < mean {
					missed++
				}
				wide += (bound - mean) / samples
			}
			t.Logf("%s, mean %v: missed %.4f, %.3f above", name, mean, float64(missed)/samples, wide)
			if missed > mostFalse(samples, alpha) {
				t.Errorf("%s, mean %v: %d of %d bounds are below the mean", name, mean, missed, samples)
			}
		}
	}
	random := rand.New(rand.NewPCG(3, 3))
	values := make([]float64, 4000)
	total := 0.0
	for i := range values {
		values[i] = draws["0 or 1"](random, 0.2)
		total += values[i]
	}
	sums, sizes := single(values)
	if bound, _ := UpperBound(sums, sizes, alpha); bound > total/4000+0.02 {
		t.Errorf("the bound of 4,000 values is %v, their mean %v", bound, total/4000)
	}
	if bound, err := UpperBound(nil, nil, alpha); err != nil || bound != 1 {
		t.Errorf("no values: %v, %v", bound, err)
	}
	for _, bad := range [][]float64{{-0.1}, {1.1}, {math.NaN()}} {
		if _, err := UpperBound(bad, []int{1}, alpha); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// Values of a set may be equal, and sets may differ in their means: the bound is of the mean over all values. With sets of
// the same size it is the bound of their means.
func TestUpperBoundOfSets(t *testing.T) {
	const samples, alpha = 1000, 0.05
	missed := 0
	for s := range samples {
		random := rand.New(rand.NewPCG(uint64(s), 9))
		var sums []float64
		var sizes []int
		mean, values := 0.0, 0.0
		for i := range 60 {
			n, p := 1+i%5, 0.1+0.2*float64(i%5) // the larger, the worse
			sums, sizes = append(sums, float64(n)*draws["0 or 1"](random, p)), append(sizes, n)
			mean, values = mean+float64(n)*p, values+float64(n)
		}
		bound, err := UpperBound(sums, sizes, alpha)
		if err != nil {
			t.Fatal(err)
		}
		if bound < mean/values {
			missed++
		}
	}
	t.Logf("missed %.4f", float64(missed)/samples)
	if missed > mostFalse(samples, alpha) {
		t.Errorf("%d of %d bounds are below the mean", missed, samples)
	}
	one, _ := UpperBound([]float64{0, 1, 0.5, 0}, []int{1, 1, 1, 1}, alpha)
	three, _ := UpperBound([]float64{0, 3, 1.5, 0}, []int{3, 3, 3, 3}, alpha)
	if math.Abs(one-three) > 1e-9 {
		t.Errorf("sets of one: %v, of three: %v", one, three)
	}
}
