// Package learntest makes decision logs of an invented service, of which it is known what every pair costs: for tests of the loop,
// and for the tutorial.
package learntest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
)

// Begin is the time of the first decision of a world. There is one in five minutes.
var Begin = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// World is a service with two models, small and large, which is dearer. Small is wrong on 10% of the requests with a first
// feature below 0 and on 80% of the others; large the other way round. The second feature says nothing. The deployed
// policy, live.onnx, always takes small, but for exploration.
type World struct {
	Dir     string
	Random  *rand.Rand
	N       int     // decisions so far
	Same    bool    // nothing can be learned: the first feature says nothing either
	Epsilon float64 // of exploration
	Share   float64 // of the requests that the candidate gets
	Live    decisionlog.PolicyInfo
	Trial   *decisionlog.PolicyInfo // the candidate; nil: none
	Choose  func(x []float32) int   // the pair that the candidate chooses; nil: it gets no share
	// Change changes a decision and its outcome before they are logged; nil: nothing does. An outcome without an id is not logged.
	Change func(r *decisionlog.Record, o *decisionlog.Outcome)
}

// LiveFile is the name of the deployed policy's file.
const LiveFile = "live.onnx"

// Actions are the pairs of a world.
func Actions() *costs.Actions {
	return &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.1}}, Advice: []costs.Advice{{Name: "none"}},
		Features: costs.FeatureSource{Name: "invented", Dim: 2},
	}
}

// New makes a world in a folder, and writes the deployed policy if it is not there.
func New(ctx context.Context, dir string, seed uint64) (*World, error) {
	w := &World{Dir: dir, Random: rand.New(rand.NewPCG(seed, 9)), Epsilon: 0.4}
	var err error
	if _, err = w.Path(LiveFile).Stat(ctx); err == nil {
		w.Live, err = w.Info(ctx, LiveFile)
		return w, err
	}
	w.Live, err = w.Constant(ctx, LiveFile, 0)
	return w, err
}

// Path is that of a file of the world.
func (w *World) Path(name string) storage.Location { return storage.File(filepath.Join(w.Dir, name)) }

// Constant writes a policy that always takes one pair.
func (w *World) Constant(ctx context.Context, name string, pair int) (decisionlog.PolicyInfo, error) {
	p := &policy.Policy{Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderFixed, Fixed: pair, Dim: 2, Actions: Actions(), Info: map[string]string{}}
	m, err := p.Export()
	if err == nil {
		_, err = decide.WritePolicy(ctx, w.Path(name), m)
	}
	if err != nil {
		return decisionlog.PolicyInfo{}, err
	}
	return w.Info(ctx, name)
}

// Info is what a log says of a policy file.
func (w *World) Info(ctx context.Context, name string) (decisionlog.PolicyInfo, error) {
	f, err := decide.ReadPolicy(ctx, w.Path(name))
	if err != nil {
		return decisionlog.PolicyInfo{}, err
	}
	digest, err := f.Digest()
	return decisionlog.PolicyInfo{Name: strings.TrimSuffix(name, ".onnx"), Digest: digest, Actions: f.Info.Actions, Lambda: f.Info.Lambda, Dim: f.Info.Dim}, err
}

// Try gives a policy file a share of the requests. The caller closes it.
func (w *World) Try(ctx context.Context, rt *ort.Runtime, name string, share float64) (closeIt func() error, err error) {
	info, err := w.Info(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := decide.ReadPolicy(ctx, w.Path(name))
	if err != nil {
		return nil, err
	}
	d, err := f.Open(rt)
	if err != nil {
		return nil, err
	}
	w.Trial, w.Share = &info, share
	w.Choose = func(x []float32) int {
		out, err := d.Decide(ctx, x, 1)
		if err != nil {
			panic(err) // of two finite numbers
		}
		return int(out.Action[0])
	}
	return d.Close, nil
}

// Wrong is the probability that a pair is wrong on a request.
func Wrong(pair int, x float32) float64 {
	if pair == 0 == (x < 0) {
		return 0.1
	}
	return 0.8
}

// Next makes a decision and its outcome.
func (w *World) Next() (*decisionlog.Record, decisionlog.Outcome) {
	x := []float32{float32(2*w.Random.Float64() - 1), float32(w.Random.NormFloat64())}
	r := &decisionlog.Record{
		Time: Begin.Add(time.Duration(w.N) * 5 * time.Minute).UnixMicro(), ID: fmt.Sprintf("%08d", w.N), Request: fmt.Sprintf("r%d", w.N), Source: "decide", Lambda: 1,
		ExpertFees: []float64{0, 0.1}, AdviceFees: []float64{0}, Keep: 1, Executed: -1, Available: []bool{true, true}, Features: x,
	}
	w.draw(r)
	told := x[0]
	if w.Same {
		told = float32(2*w.Random.Float64() - 1)
	}
	correct := w.Random.Float64() >= Wrong(r.Action, told)
	o := decisionlog.Outcome{ID: r.ID, Time: r.Time + 2e6, Correct: &correct}
	w.N++
	if w.Change != nil {
		w.Change(r, &o)
	}
	return r, o
}

// draw says which policy decides, and has it draw a pair.
func (w *World) draw(r *decisionlog.Record) {
	own, by := w.probabilities(0), &w.Live
	r.Propensity = own
	if w.Choose != nil {
		pick := w.Choose(r.Features)
		other := w.probabilities(pick)
		r.Share, r.Canary = w.Share, w.Random.Float64() < w.Share
		if pick != 0 { // else the same, to the bit
			r.Propensity = []float64{(1-w.Share)*own[0] + w.Share*other[0], (1-w.Share)*own[1] + w.Share*other[1]}
		}
		if r.Canary {
			own, by, r.Greedy = other, w.Trial, pick
		}
		r.OwnPropensity = own
	}
	r.Policy, r.Digest = by.Name, by.Digest
	if w.Random.Float64() >= own[0] {
		r.Action = 1
	}
}

// probabilities are those of a policy that takes a pair, with exploration.
func (w *World) probabilities(pair int) []float64 {
	p := []float64{w.Epsilon / 2, w.Epsilon / 2}
	p[pair] += 1 - w.Epsilon
	return p
}

// Serve appends n decisions to the log, the folder log.
func (w *World) Serve(n int) (err error) {
	log, err := decisionlog.Open(w.Path("log").String(), decisionlog.DefaultSettings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for _, p := range []*decisionlog.PolicyInfo{&w.Live, w.Trial} {
		if p == nil {
			continue
		}
		if err := log.Policy(*p); err != nil {
			return err
		}
	}
	for range n {
		r, o := w.Next()
		if err := log.Add(r); err != nil {
			return err
		}
		if o.ID == "" {
			continue
		}
		if _, err := log.Outcome(o); err != nil {
			return err
		}
	}
	return nil
}

// WeekDecisions are those of a [Week].
const WeekDecisions = 2000

// Week is the command line of a program: DIR for a first log of a world in a folder, or DIR POLICY SHARE for another one, in which a
// policy file gets a share of the requests.
func Week(ctx context.Context, args []string) (err error) {
	if len(args) != 1 && len(args) != 3 {
		return errors.New("usage: week DIR [POLICY SHARE]")
	}
	w, err := New(ctx, args[0], uint64(len(args)))
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return w.Serve(WeekDecisions)
	}
	w.N = WeekDecisions
	share, err := strconv.ParseFloat(args[2], 64)
	if err != nil || !(share > 0 && share < 1) {
		return fmt.Errorf("the share %q is not between 0 and 1", args[2])
	}
	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		return err
	}
	defer rt.Close()
	closeIt, err := w.Try(ctx, rt, args[1], share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	return w.Serve(WeekDecisions)
}
