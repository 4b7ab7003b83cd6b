package oip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pipe/onnx"
	"pipe/pipeline/decide"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// answer is the response to an inference request.
type answer struct {
	model, version, id string
	decisions          string // ids in the decision log, one per row, separated by commas; empty: none
	outputs            []result
}

// decisionsParameter is the response parameter with the ids of the decisions, for the reports of outcomes.
const decisionsParameter = "decision_ids"

// result is one output.
type result struct {
	name   string
	binary bool
	tensor *onnx.Tensor
}

// infer runs the policy of a request. The tensors of the request must not change until it returns. m is memory for them.
func (a *API) infer(ctx context.Context, r *request, m *memory, start time.Time) (*answer, error) {
	p, err := a.acquire(r.model, r.version)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	t, rows := times{start: start}, 0
	out, err := a.run(ctx, p, r, m, &t, &rows)
	a.stats.of(p.Name).count(t, err == nil, rows)
	a.metrics.Infer(p.Name, currentVersion, err == nil, rows, 0, t.ran.Sub(t.read)) // the time in the queue is part of the run
	return out, err
}

// run reads the tensors of a request and runs the policy on them.
func (a *API) run(ctx context.Context, p *policies.Policy, r *request, m *memory, t *times, rows *int) (*answer, error) {
	g := p.Graph()
	inputs, err := a.bind(g, r, m)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		*rows = max(*rows, int(in.Shape[0]))
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.start.Add(r.timeout))
		defer cancel()
	}
	names, err := outputNames(g, r)
	if err != nil {
		return nil, err
	}
	if err := a.readyToRecord(); err != nil {
		return nil, err
	}
	t.read = time.Now()
	decided, err := g.Run(ctx, inputs)
	t.ran = time.Now()
	var ids []string
	if err == nil {
		ids, err = a.record(ctx, p, r, decided, t)
	}
	var outputs map[string]*onnx.Tensor
	if err == nil {
		outputs, err = g.Tensors(decided.Decisions, names...)
	}
	if err != nil {
		return nil, runProblem(err)
	}
	out := &answer{model: p.Name, version: p.Digest, id: r.id, decisions: strings.Join(ids, ","), outputs: make([]result, len(names))}
	for i, name := range names {
		out.outputs[i] = result{name: name, binary: r.binary, tensor: outputs[name]}
		if r.outputs != nil && !r.outputs[i].implicit {
			out.outputs[i].binary = r.outputs[i].binary
		}
	}
	return out, nil
}

// outputNames returns the outputs that a request names, in its order, or else all in the order of the file.
func outputNames(g *policies.Graph, r *request) ([]string, error) {
	if len(r.outputs) == 0 {
		r.outputs = nil
		return namesOf(g.Outputs()), nil
	}
	names := make([]string, len(r.outputs))
	for i, o := range r.outputs {
		if slices.Contains(names[:i], o.name) {
			return nil, problemf(invalid, "output %q is asked for twice", o.name)
		}
		if !slices.ContainsFunc(g.Outputs(), func(v onnx.IO) bool { return v.Name == o.name }) {
			return nil, problemf(invalid, "the model has no output %q; its outputs are %s", o.name, strings.Join(namesOf(g.Outputs()), ", "))
		}
		names[i] = o.name
	}
	return names, nil
}

func namesOf(list []onnx.IO) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.Name
	}
	return names
}

// bind checks the tensors of a request against the inputs of the policy, and reads their elements.
func (a *API) bind(g *policies.Graph, r *request, m *memory) (map[string]*onnx.Tensor, error) {
	declared := g.Inputs()
	inputs := make(map[string]*onnx.Tensor, len(r.inputs))
	for i := range r.inputs {
		in := &r.inputs[i]
		if inputs[in.name] != nil {
			return nil, problemf(invalid, "input %q is given twice", in.name)
		}
		at := slices.IndexFunc(declared, func(v onnx.IO) bool { return v.Name == in.name })
		if at < 0 {
			return nil, problemf(invalid, "the model has no input %q; its inputs are %s", in.name, strings.Join(namesOf(declared), ", "))
		}
		t, err := a.bindOne(&declared[at], in, m)
		if err != nil {
			return nil, problemf(invalid, "input %q: %v", in.name, err)
		}
		inputs[in.name] = t
	}
	return inputs, nil
}

// bindOne checks the datatype and shape of a tensor against the declared input, and reads its elements.
func (a *API) bindOne(want *onnx.IO, in *tensor, m *memory) (*onnx.Tensor, error) {
	dtype, known := dtypeOf(in.datatype)
	if !known {
		return nil, fmt.Errorf("datatype %q is unknown; the model takes %s", in.datatype, datatypeOf(want.DType))
	}
	if dtype != want.DType {
		return nil, fmt.Errorf("datatype is %s, the model takes %s", in.datatype, datatypeOf(want.DType))
	}
	n, err := a.elementsOf(want.Shape, in.shape)
	if err != nil {
		return nil, err
	}
	t := &onnx.Tensor{DType: dtype, Shape: in.shape}
	return t, in.elements.read(t, n, m)
}

// elementsOf checks a shape against the declared one, and returns its number of elements.
func (a *API) elementsOf(want onnx.Shape, shape []int64) (int, error) {
	if len(shape) != len(want) {
		return 0, fmt.Errorf("shape is %v, the model takes %v", shape, sizes(want))
	}
	const most = 1 << 40 // far more than fits in a request
	n := int64(1)
	for i, size := range shape {
		if want[i].Known() && size != want[i].Size {
			return 0, fmt.Errorf("shape is %v, the model takes %v", shape, sizes(want))
		}
		if size < 1 {
			return 0, fmt.Errorf("shape is %v: each size must be at least 1", shape)
		}
		if size > most/n {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= size
	}
	if len(shape) > 0 && !want[0].Known() && shape[0] > int64(a.settings.MaxRows) {
		return 0, fmt.Errorf("shape is %v: more than %d rows, the most of one request", shape, a.settings.MaxRows)
	}
	return int(n), nil
}

// runProblem adds the status to an error of the policy.
func runProblem(err error) error {
	var tensor *policies.TensorError
	var row *decide.RowError
	var overload *policies.OverloadError
	k := internal
	switch {
	case errors.As(err, &tensor), errors.As(err, &row):
		k = invalid
	case errors.As(err, &overload):
		k = busy
	case errors.Is(err, context.DeadlineExceeded):
		k = deadline
	case errors.Is(err, context.Canceled):
		k = canceled
	case errors.Is(err, policies.ErrClosed), errors.Is(err, decision.ErrNotLogged):
		k = unavailable
	}
	return &problem{kind: k, text: err.Error(), err: err}
}
