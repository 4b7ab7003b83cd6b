package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pipe/onnx"
	"pipe/onnx/ort"
)

// Work of one call of the runtime, in floating point operations: enough to make the call overhead negligible, little
// enough that a cancelled run stops soon.
const (
	callFlopsCPU  = 4e9
	callFlopsCUDA = 4e11
	callBytes     = 32 << 20 // and at most this much input per call
	callSteps     = 1024
)

// run is the training of one group: its session, its state and its position.
type run struct {
	g       *group
	rt      *ort.Runtime
	data    *trainingData
	session *ort.Session
	feed    *feed
	state   [2][]*ort.Buffer // ping and pong
	front   int
	step    int
	inputs  map[int]*callBuffers // by number of steps
	losses  [][]float64          // per model, mean loss of each finished epoch
	partial []float64            // loss summed over the epoch in progress
	key     string               // identifies the run in checkpoints
	saved   time.Time
}

// callBuffers are the input buffers of a call with a number of steps.
type callBuffers struct {
	trip    *ort.Buffer
	byName  map[string]*ort.Buffer
	view    chunk
	outLoss *ort.Buffer
}

func (g *group) train(ctx context.Context, data *trainingData, o Options) (out []Trained, err error) {
	r, err := newRun(g, data, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.load(o.Save); err != nil {
		return nil, err
	}
	total := g.settings.Epochs * g.perEpoch
	for r.step < total {
		n := min(total-r.step, r.callSteps())
		if err := r.advance(ctx, n); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(n * len(g.members))
		}
		if err := r.save(o.Save); err != nil {
			return nil, err
		}
	}
	return r.trained(), nil
}

func newRun(g *group, data *trainingData, o Options) (*run, error) {
	r := &run{
		g: g, rt: data.rt, data: data, feed: newFeed(g), inputs: map[int]*callBuffers{},
		losses: make([][]float64, len(g.members)), partial: make([]float64, len(g.members)),
	}
	model, err := g.plan.trainGraph()
	if err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	graph, err := model.Marshal()
	if err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	if data.digest != "" {
		r.key = runKey(g, graph, data.digest, data.rt.Version()+"/"+data.rt.Device())
	}
	if r.session, err = open(r.rt, graph); err != nil {
		return nil, fmt.Errorf("open training graph: %w", err)
	}
	if err := r.initState(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// open opens a session with settings for training: one thread, because groups run in parallel, and no denormals, which
// occur as moments decay.
func open(rt *ort.Runtime, graph []byte) (*ort.Session, error) {
	so := rt.SessionOptions()
	so.Threads, so.DenormalsAsZero = 1, true
	return rt.Session(graph, so)
}

// initState draws the parameters, zeroes the moments and sets the scale to 1.
func (r *run) initState() error {
	s := int64(len(r.g.members))
	for _, p := range r.g.plan.net.params() {
		for slot := range 3 {
			if err := r.addState(s, int64(p.rows), int64(p.cols)); err != nil {
				return err
			}
			if slot > 0 {
				continue
			}
			v := r.state[0][len(r.state[0])-1].Float32s()
			for m, spec := range r.g.plan.specs {
				copy(v[m*p.size():], p.draw(r.g.settings.Init, spec.Seed))
			}
		}
	}
	if err := r.addState(s, 1, 1); err != nil {
		return err
	}
	for i := range s {
		r.state[0][len(r.state[0])-1].Float32s()[i] = 1
	}
	return nil
}

func (r *run) addState(shape ...int64) error {
	for side := range r.state {
		b, err := r.rt.NewBuffer(onnx.Float32, shape...)
		if err != nil {
			return err
		}
		r.state[side] = append(r.state[side], b)
	}
	return nil
}

// callSteps is the number of steps in one call.
func (r *run) callSteps() int {
	s, b := len(r.g.members), r.g.settings.Batch
	budget := callFlopsCPU
	if r.rt.Device() == ort.CUDA {
		budget = callFlopsCUDA
	}
	width := 3 // rows (two words) and coef
	if r.g.plan.dropout() {
		for _, h := range r.g.plan.net.hidden {
			width += h
		}
	}
	byWork := int(budget / float64(6*r.g.plan.net.size()*b*s))
	byBytes := callBytes / (4 * width * b * s)
	return max(1, min(callSteps, byWork, byBytes))
}

// advance runs n steps.
func (r *run) advance(ctx context.Context, n int) error {
	in, err := r.inputsFor(n)
	if err != nil {
		return err
	}
	r.feed.fill(in.view, r.step, n)
	front, back := r.state[r.front], r.state[1-r.front]
	var ordered []*ort.Buffer
	for _, io := range r.session.Inputs() {
		ordered = append(ordered, in.byName[io.Name])
	}
	for i, b := range front { // state inputs are the last ones, in order
		ordered[len(ordered)-len(front)+i] = b
	}
	out := append(slices.Clone(back), in.outLoss)
	if err := r.session.RunBuffers(ctx, ordered, out); err != nil {
		return err
	}
	r.front = 1 - r.front
	return r.account(in.outLoss.Float32s(), n)
}

// account adds the losses [n, S] of the finished steps to those of their epochs.
func (r *run) account(loss []float32, n int) error {
	s := len(r.g.members)
	for t := range n {
		epoch := r.step / r.g.perEpoch
		for m := range s {
			l := loss[t*s+m]
			if l-l != 0 {
				return &NonFiniteError{Step: r.step, Epoch: epoch, Spec: r.g.plan.specs[m], Loss: l}
			}
			r.partial[m] += float64(l) * float64(r.minibatchSize(m))
		}
		r.step++
		if r.step%r.g.perEpoch == 0 {
			for m := range s {
				r.losses[m] = append(r.losses[m], r.partial[m]/float64(len(r.g.rows[m])))
				r.partial[m] = 0
			}
		}
	}
	return nil
}

// minibatchSize is the number of instances of model m in the step that was just run.
func (r *run) minibatchSize(m int) int {
	b := r.g.settings.Batch
	return min(b, len(r.g.rows[m])-r.step%r.g.perEpoch*b)
}

func (r *run) inputsFor(n int) (*callBuffers, error) {
	if in := r.inputs[n]; in != nil {
		return in, nil
	}
	in := &callBuffers{byName: map[string]*ort.Buffer{inFeatures: r.data.features, inTarget: r.data.target}}
	if r.data.known != nil {
		in.byName[inKnown] = r.data.known
	}
	t, s, b := int64(n), int64(len(r.g.members)), int64(r.g.settings.Batch)
	var errs []error
	add := func(name string, dt onnx.DType, shape ...int64) *ort.Buffer {
		buf, err := r.rt.NewBuffer(dt, shape...)
		errs = append(errs, err)
		in.byName[name] = buf
		return buf
	}
	rows, coef := add(inRows, onnx.Int64, t, s, b), add(inCoef, onnx.Float32, t, s, 1, b)
	alpha, eps := add(inAlpha, onnx.Float32, t, s, 1, 1), add(inEps, onnx.Float32, t, s, 1, 1)
	decay := add(inDecay, onnx.Float32, t, s, 1, 1)
	slope := add(inSlope, onnx.Float32, t, s, 1, 1)
	in.trip = add(inSteps, onnx.Int64)
	in.outLoss = add(outLosses, onnx.Float32, t, s)
	var drops []*ort.Buffer
	if r.g.plan.dropout() {
		for i, h := range r.g.plan.net.hidden {
			drops = append(drops, add(fmt.Sprintf("%s.%d", inDrop, i), onnx.Float32, t, s, int64(h), b))
		}
	}
	r.inputs[n] = in
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	in.trip.Int64s()[0] = t
	in.view = chunk{rows: rows.Int64s(), coef: coef.Float32s(), alpha: alpha.Float32s(), eps: eps.Float32s()}
	if r.g.plan.decays() {
		in.view.decay = decay.Float32s()
	}
	if r.g.plan.movesTau() {
		in.view.slope = slope.Float32s()
	}
	for _, d := range drops {
		in.view.drop = append(in.view.drop, d.Float32s())
	}
	return in, nil
}

// params are copies of model m's parameters, in the order of scorer.params.
func (r *run) params(m int) [][]float32 {
	var out [][]float32
	for i, p := range r.g.plan.net.params() {
		v := r.state[r.front][3*i].Float32s()
		out = append(out, slices.Clone(v[m*p.size():(m+1)*p.size()]))
	}
	return out
}

func (r *run) trained() []Trained {
	var out []Trained
	for m, spec := range r.g.plan.specs {
		out = append(out, Trained{Spec: spec, Network: r.g.plan.net.mlp(r.params(m)), Loss: r.losses[m]})
	}
	return out
}

func (r *run) close() {
	if r.session != nil {
		r.session.Close()
	}
	for _, side := range r.state {
		for _, b := range side {
			b.Close()
		}
	}
	for _, in := range r.inputs {
		for name, b := range in.byName {
			if b != nil && name != inFeatures && name != inTarget && name != inKnown {
				b.Close()
			}
		}
	}
}
