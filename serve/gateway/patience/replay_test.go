package patience

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// law draws the length of a prompt in tokens and the time until the answer begins. An eighth of the answers come from a model
// that thinks without a sign of life: their median is 20 s, and the logarithm has the deviation 1.1. So 6% of all answers
// begin after 20 s, 1% after 94 s, and 0.1% after 290 s. Longer prompts take longer.
func law(r *rand.Rand, slower float64) (tokens int, begins time.Duration) {
	length := 200 * math.Exp(r.Float64()*math.Log(1000))
	median, deviation := 1.2, 0.6
	if r.Float64() < 0.12 {
		median, deviation = 20.3, 1.1
	}
	seconds := slower * median * math.Pow(length/8000, 0.15) * math.Exp(deviation*r.NormFloat64())
	return int(length), time.Duration(seconds * float64(time.Second))
}

// flat is the rule that cuts 6% of the good answers.
const flat = 20 * time.Second

// replay sends calls at random times through a learner, on a virtual clock.
type replay struct {
	learner *Learner
	expert  *Expert
	random  *rand.Rand
	rate    float64 // calls a second

	wg   sync.WaitGroup
	mu   sync.Mutex
	good int            // answers that would have come
	cut  int            // of these, cut
	late int            // of these, after the flat rule
	gone [][2]time.Time // when calls began that would never be answered, and when they were cut, in the order of the latter
}

// never is the time of an answer that never comes.
const never = time.Duration(math.MaxInt64)

func newReplay(t *testing.T, seed uint64, rate float64) *replay {
	t.Helper()
	s := DefaultSettings()
	l, err := New(&s, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &replay{learner: l, expert: l.Expert("e", ""), random: rand.New(rand.NewPCG(seed, 1)), rate: rate}
}

// send sends calls for a while. With slower of 0, the service accepts them and never answers.
func (p *replay) send(n int, slower float64) {
	for range n {
		time.Sleep(time.Duration(p.random.ExpFloat64() / p.rate * float64(time.Second)))
		tokens, begins := law(p.random, slower)
		if slower == 0 {
			begins = never
		}
		p.wg.Go(func() { p.call(tokens, begins) })
	}
}

// call makes one call.
func (p *replay) call(tokens int, begins time.Duration) {
	cut := make(chan struct{})
	w, began := p.expert.Begin(true, tokens), time.Now()
	allowance := w.Allow(flat, func() { close(cut) })
	answered := false
	if begins <= allowance {
		select {
		case <-time.After(begins):
			answered = true
		case <-cut:
		}
	} else {
		select {
		case <-time.After(allowance):
		case <-cut:
		}
	}
	w.End(answered)
	p.mu.Lock()
	defer p.mu.Unlock()
	if begins == never {
		p.gone = append(p.gone, [2]time.Time{began, time.Now()})
		return
	}
	p.good++
	if begins > flat {
		p.late++
	}
	if !answered {
		p.cut++
	}
}

// fifth is how long it took until the fifth call was cut that would never be answered; 0 if it was not.
func (p *replay) fifth(since time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.gone) < 5 {
		return 0
	}
	return p.gone[4][1].Sub(since)
}

// longest is the longest wait of the calls that began before the fifth one was cut. A breaker lets no others through.
func (p *replay) longest() (d time.Duration) {
	for _, g := range p.gone {
		if g[0].Before(p.gone[4][1]) {
			d = max(d, g[1].Sub(g[0]))
		}
	}
	return d
}

// shares returns the shares of the good answers since the last call that were cut, and that the flat rule would have cut.
func (p *replay) shares() (cut, flat float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut, flat = float64(p.cut)/float64(p.good), float64(p.late)/float64(p.good)
	p.good, p.cut, p.late = 0, 0, 0
	return cut, flat
}

// spread is the smallest, the middle and the largest of some figures.
func spread(of []float64) (low, middle, high float64) {
	of = slices.Sorted(slices.Values(of))
	return of[0], of[len(of)/2], of[len(of)-1]
}

// replays is the number of seeds.
func replays() uint64 {
	if testing.Short() {
		return 1
	}
	return 8
}

const (
	answers  = 30_000 // of each replay, with those that are learned from at first
	deadline = 5 * time.Second
)

// TestGoodAnswersStay replays times with heavy tails: of good answers at most 0.1% are cut, with those before anything is
// learned, where a flat 20 s cuts 6%. The learned lateness is that of the law, though the latest answers were cut.
func TestGoodAnswersStay(t *testing.T) {
	var cut, flat, off []float64
	mean := lateness()
	for seed := range replays() {
		synctest.Test(t, func(t *testing.T) {
			p := newReplay(t, seed, 2)
			p.send(answers, 1)
			p.wg.Wait()
			c, f := p.shares()
			cut, flat = append(cut, c), append(flat, f)
			for k, tokens := range lengths[:len(mean)] {
				late, known := p.expert.Late(true, tokens, deadline)
				if !known {
					t.Fatal(tokens)
				}
				off = append(off, late.Seconds()/mean[k]-1)
			}
		})
	}
	low, middle, high := spread(cut)
	t.Logf("%d replays of %d answers: cut %.3f%% (%.3f%% to %.3f%%)", replays(), answers, 100*middle, 100*low, 100*high)
	if high > 0.001 {
		t.Error("more than 0.1% of the good answers are cut")
	}
	low, middle, high = spread(flat)
	t.Logf("a flat 20 s cuts %.2f%% (%.2f%% to %.2f%%)", 100*middle, 100*low, 100*high)
	if low < 0.05 || high > 0.07 {
		t.Error("the law is not the planted one")
	}
	low, middle, high = spread(off)
	t.Logf("mean lateness after %v, by length: %+.0f%% of the law's (%+.0f%% to %+.0f%%)", deadline, 100*middle, 100*low, 100*high)
	if math.Abs(middle) > 0.1 || low < -0.5 || high > 0.5 {
		t.Error("the lateness is wrong")
	}
}

// lateness is the mean lateness in seconds of the law, by length of the prompt.
func lateness() (mean [4]float64) {
	var n [4]float64
	r := rand.New(rand.NewPCG(1, 2))
	for range 500_000 {
		if tokens, begins := law(r, 1); keyOf(true, tokens).length < len(mean) {
			k := keyOf(true, tokens).length
			n[k]++
			mean[k] += (max(0, begins-deadline).Seconds() - mean[k]) / n[k]
		}
	}
	return mean
}

// TestDeadServiceIsLeft lets the service die after it was learned: further calls come in, and none is answered. The service
// is left when five calls were cut, which opens a breaker. That takes at most twice as long as by the flat rule. What takes
// longer are rates of calls so low that so many would not come within the time of a flat rule.
func TestDeadServiceIsLeft(t *testing.T) {
	for _, rate := range []float64{0.1, 0.2, 0.5, 2, 10} {
		var ours, rule, ratio, waited []float64
		for seed := range replays() {
			synctest.Test(t, func(t *testing.T) {
				p := newReplay(t, seed, rate)
				p.send(5000, 1)
				died, left, byFlat := time.Now(), time.Duration(0), time.Duration(0)
				for n := 1; left == 0; n++ {
					p.send(1, 0)
					if n == 5 {
						byFlat = time.Since(died) + flat
					}
					left = p.fifth(died)
				}
				p.wg.Wait()
				ours, rule, ratio, waited = append(ours, left.Seconds()), append(rule, byFlat.Seconds()), append(ratio, left.Seconds()/byFlat.Seconds()), append(waited, p.longest().Seconds())
			})
		}
		low, middle, high := spread(ours)
		_, _, longest := spread(waited)
		_, times, most := spread(ratio)
		_, byRule, _ := spread(rule)
		t.Logf("%4g calls a second: left after %.0f s (%.0f s to %.0f s), %.1f times the %.0f s of the flat rule (at most %.1f); the longest wait of a call is %.0f s", rate, middle, low, high, times, byRule, most, longest)
		if most > 2 {
			t.Errorf("%g calls a second: it took %.1f times as long as by the flat rule", rate, most)
		}
	}
}

// TestSlowerService lets the service become three times slower at once. Few answers are cut until that is learned, and none
// because the service seemed to be dead.
func TestSlowerService(t *testing.T) {
	var worst, after, flat []float64
	for seed := range replays() {
		synctest.Test(t, func(t *testing.T) {
			p := newReplay(t, seed, []float64{0.3, 2, 20}[seed%3])
			p.send(10_000, 1)
			p.shares()
			var cut []float64
			for range 10 {
				p.send(1000, 3)
				c, f := p.shares()
				cut, flat = append(cut, c), append(flat, f)
			}
			p.wg.Wait()
			if p.expert.silent > 0 {
				t.Errorf("%d calls were cut together", p.expert.silent)
			}
			worst, after = append(worst, slices.Max(cut)), append(after, (cut[8]+cut[9])/2)
		})
	}
	low, middle, high := spread(worst)
	_, settled, _ := spread(after)
	_, rule, _ := spread(flat)
	t.Logf("three times slower: of 1,000 answers at most %.1f%% are cut (%.1f%% to %.1f%%), %.2f%% after 8,000; a flat 20 s cuts %.0f%%", 100*middle, 100*low, 100*high, 100*settled, 100*rule)
	if high > 0.01 {
		t.Error("too many good answers are cut")
	}
}

// BenchmarkCall measures what a call costs: its beginning, its allowance, its end, and the lateness that a decision asks for.
func BenchmarkCall(b *testing.B) {
	s := DefaultSettings()
	l, err := New(&s, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	e := l.Expert("e", "")
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		tokens, _ := law(r, 1)
		w := e.Begin(true, tokens)
		w.Allow(time.Second, func() {})
		e.Late(true, tokens, time.Second)
		w.End(true)
	}
}
