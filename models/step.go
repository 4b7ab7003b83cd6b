package models

import (
	"errors"
	"fmt"

	"pipe/onnx"
)

// stepPlan has the properties of a group on which its training graph depends.
type stepPlan struct {
	net       scorer
	surrogate Surrogate
	problem   *Problem
	specs     []Spec
	batch     int
	clip      float64
	tauMoves  bool // tau differs between steps, see Settings.TauWarmup
	embed     bool // data as constants of the session rather than inputs
}

func (p stepPlan) dropout() bool { return anySpec(p.specs, func(s Spec) bool { return s.Dropout > 0 }) }

func (p stepPlan) decays() bool {
	return anySpec(p.specs, func(s Spec) bool { return s.WeightDecay > 0 })
}

// scalesLoss reports whether gradients can overflow float32: below tau = 1 the surrogate grows like p^(tau-1).
func (p stepPlan) scalesLoss() bool { return anySpec(p.specs, func(s Spec) bool { return s.Tau < 1 }) }

func anySpec(specs []Spec, f func(Spec) bool) bool {
	for _, s := range specs {
		if f(s) {
			return true
		}
	}
	return false
}

// Names of the training graph's inputs. State inputs come last, per parameter
// value, m, v, then the scale; outputs mirror them, followed by the losses.
const (
	inFeatures = "features" // [N, dim]
	inTarget   = "target"   // [N, actions]
	inKnown    = "known"    // [N, actions], only if some targets are not known
	inSteps    = "steps"    // int64 scalar
	inRows     = "rows"     // int64 [T, S, B]
	inCoef     = "coef"     // [T, S, 1, B]
	inAlpha    = "alpha"    // [T, S, 1, 1]
	inEps      = "eps"      // [T, S, 1, 1]
	inDecay    = "decay"    // [T, S, 1, 1], only if a model has weight decay
	inSlope    = "slope"    // [T, S, 1, 1] 1 - tau, only if it changes
	inDrop     = "drop"     // drop.I [T, S, width, B], only with dropout
	inScale    = "scale"    // [S, 1, 1]
	outLosses  = "losses"   // [T, S]
)

// stepInputs are the training graph's inputs besides state.
type stepInputs struct {
	trip             *onnx.Value
	features, target *onnx.Value // [N, dim], [N, actions]
	known            *onnx.Value // [N, actions], or nil
	rows, coef       *onnx.Value // [T, S, B], [T, S, 1, B]
	scalars          stepScalars // [T, S, 1, 1]
	drops            []*onnx.Value
	fees             *onnx.Value // [S, actions, 1]
}

// trainGraph builds the graph that runs T steps of S models in one call: a Loop whose carried values are the state.
func (p stepPlan) trainGraph() (*onnx.Model, error) {
	g := onnx.NewGraph("train")
	in := p.inputs(g)
	state := p.stateInputs(g)
	var failed error
	final, scans := g.Loop(in.trip, state, func(g *onnx.Graph, iter *onnx.Value, carried []*onnx.Value) (next, scan []*onnx.Value) {
		next, loss, err := p.step(g, in.at(g, iter), carried)
		if err != nil {
			failed = err
			return carried, carried[:1]
		}
		return next, []*onnx.Value{loss}
	})
	if failed != nil {
		return nil, failed
	}
	for i, v := range final {
		g.Output("next."+state[i].Name(), v)
	}
	g.Output(outLosses, scans[0])
	return g.Build(onnx.BuildOptions{})
}

func (p stepPlan) inputs(g *onnx.Graph) stepInputs {
	n, s, b := int64(p.problem.Len()), int64(len(p.specs)), int64(p.batch)
	perStep := func(name string, dt onnx.DType, dims ...int64) *onnx.Value {
		return g.Input(name, dt, append(onnx.Shape{onnx.Sym("T")}, onnx.Dims(dims...)...))
	}
	in := stepInputs{
		features: p.data(g, inFeatures, p.problem.Features, n, int64(p.problem.Dim)),
		target:   p.data(g, inTarget, p.problem.Target, n, int64(p.problem.actions())),
		trip:     g.Input(inSteps, onnx.Int64, onnx.Shape{}),
		rows:     perStep(inRows, onnx.Int64, s, b),
		coef:     perStep(inCoef, onnx.Float32, s, 1, b),
		scalars: stepScalars{
			alpha: perStep(inAlpha, onnx.Float32, s, 1, 1),
			eps:   perStep(inEps, onnx.Float32, s, 1, 1),
		},
		fees: p.fees(g),
	}
	if p.problem.Known != nil {
		in.known = p.data(g, inKnown, p.problem.Known, n, int64(p.problem.actions()))
	}
	if p.decays() {
		in.scalars.decay = perStep(inDecay, onnx.Float32, s, 1, 1)
	}
	if p.movesTau() {
		in.scalars.slope = perStep(inSlope, onnx.Float32, s, 1, 1)
	}
	if p.dropout() {
		for i, h := range p.net.hidden {
			in.drops = append(in.drops, perStep(fmt.Sprintf("%s.%d", inDrop, i), onnx.Float32, s, int64(h), b))
		}
	}
	return in
}

// at takes the slice of one step of everything that has a step axis, inside the body of the Loop.
func (in stepInputs) at(g *onnx.Graph, iter *onnx.Value) stepInputs {
	take := func(v *onnx.Value) *onnx.Value { return g.Gather(v, iter, 0) }
	out := in
	out.rows, out.coef = take(in.rows), take(in.coef)
	out.scalars = stepScalars{alpha: take(in.scalars.alpha), eps: take(in.scalars.eps)}
	if in.scalars.decay != nil {
		out.scalars.decay = take(in.scalars.decay)
	}
	if in.scalars.slope != nil {
		out.scalars.slope = take(in.scalars.slope)
	}
	out.drops = nil
	for _, d := range in.drops {
		out.drops = append(out.drops, take(d))
	}
	return out
}

// step is one optimiser step: minibatch, forward, surrogate, gradients, AdamW.
// It returns the next state and the losses [S].
func (p stepPlan) step(g *onnx.Graph, in stepInputs, carried []*onnx.Value) (next []*onnx.Value, loss *onnx.Value, err error) {
	x := g.Transpose(g.Gather(in.features, in.rows, 0), 0, 2, 1) // [S, dim, B]
	y := g.Transpose(g.Gather(in.target, in.rows, 0), 0, 2, 1)   // [S, actions, B]
	var known *onnx.Value
	if in.known != nil {
		known = g.Transpose(g.Gather(in.known, in.rows, 0), 0, 2, 1)
	}
	slots, scale := unpackState(carried)
	params := make([]*onnx.Value, len(slots))
	for i := range slots {
		params[i] = slots[i].p
	}
	scores := p.net.forward(g, x, params, in.drops)
	losses, err := p.losses(g, Batch{
		Scores: scores, Target: y, Known: known, Coef: in.coef, Fees: in.fees,
		Slope: p.slope(g, in.scalars), Models: len(p.specs), Allowed: p.allowed(), Experts: p.problem.Experts, Advice: p.problem.Advice,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("surrogate %s: %w", p.surrogate.Name(), err)
	}
	grads, lossScale, err := p.gradients(g, losses, scores, params)
	if err != nil {
		return nil, nil, err
	}
	slots, scale = adamW(g, slots, grads, in.scalars, scale, lossScale, p.clip)
	return packState(slots, scale), g.ReduceSum(losses, false, 1, 2), nil
}

// losses asks the surrogate, which may be a caller's, for its loss and checks the answer. A panic of the surrogate is an
// error, because models are trained in goroutines, where it would end the program.
func (p stepPlan) losses(g *onnx.Graph, b Batch) (loss *onnx.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its loss panics: %v", r)
		}
	}()
	loss = p.surrogate.Loss(g, b)
	switch {
	case loss == nil:
		return nil, errors.New("its loss is nil")
	case g.Err() != nil:
		return nil, fmt.Errorf("its loss: %w", g.Err())
	}
	if s := loss.Shape(); len(s) != 3 || s[0] != onnx.Fix(int64(len(p.specs))) {
		return nil, fmt.Errorf("its loss has the shape %v, expected [%d, *, %d]", s, len(p.specs), p.batch)
	}
	if !onnx.Depends(loss, b.Scores) {
		return nil, errors.New("its loss has no derivative by the scores, so nothing would be learned")
	}
	return loss, nil
}

// gradients differentiates the loss. With a loss scale the gradient at the scores is first divided by its largest
// absolute value per model, so that neither the rest of the backward pass nor the squares overflow.
func (p stepPlan) gradients(g *onnx.Graph, loss, scores *onnx.Value, params []*onnx.Value) ([]*onnx.Value, *onnx.Value, error) {
	if !p.scalesLoss() {
		grads, err := g.Gradients(loss, params...)
		return grads, nil, err
	}
	top, err := g.Gradients(loss, scores)
	if err != nil {
		return nil, nil, err
	}
	one := g.Scalar(onnx.Float32, 1)
	f := g.Reciprocal(g.Max(g.ReduceMax(g.Abs(top[0]), true, 1, 2), one)) // [S, 1, 1]
	grads, err := g.Gradients(g.Mul(scores, g.StopGradient(g.Mul(top[0], f))), params...)
	return grads, f, err
}

// data is a session constant or an input: the former is better on a GPU (no copy per call), the latter on a CPU (no
// second copy in memory).
func (p stepPlan) data(g *onnx.Graph, name string, v []float32, dims ...int64) *onnx.Value {
	if p.embed {
		return g.NamedConst(name, onnx.Float32s(dims, v))
	}
	return g.Input(name, onnx.Float32, onnx.Dims(dims...))
}

func (p stepPlan) stateInputs(g *onnx.Graph) []*onnx.Value {
	s := int64(len(p.specs))
	var in []*onnx.Value
	for _, q := range p.net.params() {
		for _, suffix := range []string{"", ".m", ".v"} {
			in = append(in, g.Input(q.name+suffix, onnx.Float32, onnx.Dims(s, int64(q.rows), int64(q.cols))))
		}
	}
	return append(in, g.Input(inScale, onnx.Float32, onnx.Dims(s, 1, 1)))
}

func unpackState(v []*onnx.Value) (slots []slot, scale *onnx.Value) {
	for i := 0; i+2 < len(v); i += 3 {
		slots = append(slots, slot{v[i], v[i+1], v[i+2]})
	}
	return slots, v[len(v)-1]
}

func packState(slots []slot, scale *onnx.Value) []*onnx.Value {
	var v []*onnx.Value
	for _, s := range slots {
		v = append(v, s.p, s.m, s.v)
	}
	return append(v, scale)
}

// fees computes beta_j + lambda*gamma_k, [S, actions, 1], from each model's lambda [S, 1, 1].
func (p stepPlan) fees(g *onnx.Graph) *onnx.Value {
	q := p.problem
	lambdas := make([]float64, len(p.specs))
	for i, s := range p.specs {
		lambdas[i] = s.Lambda
	}
	beta, gamma := make([]float64, q.actions()), make([]float64, q.actions())
	for i := range beta {
		if q.Beta != nil {
			beta[i] = q.Beta[i/q.Advice]
		}
		if q.Gamma != nil {
			gamma[i] = q.Gamma[i%q.Advice]
		}
	}
	const t = onnx.Float32
	lambda := perModel(g, t, len(p.specs), lambdas)
	return g.Add(g.Mul(lambda, perModel(g, t, 1, gamma)), perModel(g, t, 1, beta))
}

// allowed combines the mask of the problem and the masks of the models, S x actions; nil if nothing is masked.
func (p stepPlan) allowed() []bool {
	a := p.problem.actions()
	out, all := make([]bool, 0, len(p.specs)*a), true
	for _, s := range p.specs {
		for i := range a {
			ok := s.allowed(p.problem, i)
			out, all = append(out, ok), all && ok
		}
	}
	if all {
		return nil
	}
	return out
}

// movesTau reports whether tau is an input of every step.
func (p stepPlan) movesTau() bool { return p.tauMoves && p.bends() }

// bends reports whether a model's tau is not 1.
func (p stepPlan) bends() bool { return anySpec(p.specs, func(s Spec) bool { return s.Tau != 1 }) }

// slope is the slope 1 - tau that the surrogate uses.
func (p stepPlan) slope(g *onnx.Graph, in stepScalars) *onnx.Value {
	if in.slope != nil {
		return in.slope
	}
	tau := make([]float64, len(p.specs))
	for i, s := range p.specs {
		tau[i] = s.Tau
	}
	return slopes(g, onnx.Float32, tau)
}
