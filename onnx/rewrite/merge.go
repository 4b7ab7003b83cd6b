package rewrite

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/onnxpb"
)

// MergeOptions says how name conflicts between two models are resolved.
type MergeOptions struct {
	Name string // of the merged graph
	// Prefixes of all names that are neither inputs nor outputs of the result.
	FirstPrefix, SecondPrefix string
	// Share names inputs that both models have and the result has once.
	Share []string
	Keep  bool // the outputs of first are outputs of the result too, before those of second
}

// Merge puts first in front of second: connect maps outputs of first to the inputs of second that they feed. The result
// has the inputs of first and the inputs of second that are not fed; its outputs are those of second, and with Keep those of
// first before them. The lower
// operator set is raised to the higher one: nodes that the newer one interprets differently are rewritten. Split is the
// inverse. Metadata of second wins over that of first. The models are not changed; the result shares their constants.
//
// Errors name the names, types, shapes or operators that do not match; a model whose operator set cannot be raised is
// an *OpsetError.
func Merge(first, second *onnx.Model, connect map[string]string, o MergeOptions) (*onnx.Model, error) {
	m, err := merge(first, second, connect, o)
	if _, ok := errors.AsType[*OpsetError](err); ok {
		return nil, err // about one model, not about the merge
	}
	if err != nil {
		return nil, fmt.Errorf("merge models: %w", err)
	}
	return m, nil
}

func merge(first, second *onnx.Model, connect map[string]string, o MergeOptions) (*onnx.Model, error) {
	for i, m := range []*onnx.Model{first, second} {
		if err := m.Check(); err != nil {
			return nil, fmt.Errorf("model %d: %w", i+1, err)
		}
	}
	sets, err := commonOpsets(first.Proto, second.Proto)
	if err != nil {
		return nil, err
	}
	if first, err = raised(first, standard(sets)); err != nil {
		return nil, err
	}
	if second, err = raised(second, standard(sets)); err != nil {
		return nil, err
	}
	a, b, err := renamers(first, second, connect, o)
	if err != nil {
		return nil, err
	}
	p := &onnxpb.ModelProto{
		IrVersion:    proto.Int64(max(first.Proto.GetIrVersion(), second.Proto.GetIrVersion())),
		ProducerName: second.Proto.ProducerName,
		OpsetImport:  sets,
		Graph:        joinGraphs(a.graph(first.Proto.GetGraph()), b.graph(second.Proto.GetGraph()), a, connect, o),
	}
	if p.Functions, err = joinFunctions(first.Proto, second.Proto); err != nil {
		return nil, err
	}
	m := &onnx.Model{Proto: p}
	meta := first.Metadata()
	maps.Copy(meta, second.Metadata())
	m.SetMetadata(meta)
	return m, m.Check()
}

// renamers plans the names of both models.
func renamers(first, second *onnx.Model, connect map[string]string, o MergeOptions) (a, b *renamer, err error) {
	a, b = newRenamer(o.FirstPrefix), newRenamer(o.SecondPrefix)
	outputs, inputs := byName(first.Outputs()), byName(second.Inputs())
	for _, v := range first.Inputs() {
		a.names[v.Name] = v.Name
	}
	for _, v := range slices.Concat(second.Inputs(), second.Outputs()) {
		b.names[v.Name] = v.Name
	}
	if len(connect) == 0 {
		return nil, nil, errors.New("nothing is connected")
	}
	if err := b.share(o.Share, byName(first.Inputs()), inputs); err != nil {
		return nil, nil, err
	}
	fed := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(connect)) {
		to := connect[from]
		out, ok := outputs[from]
		if !ok {
			return nil, nil, fmt.Errorf("first model has no output %q, it has %q", from, slices.Sorted(maps.Keys(outputs)))
		}
		in, ok := inputs[to]
		if !ok || fed[to] {
			return nil, nil, fmt.Errorf("second model has no free input %q, it has %q", to, slices.Sorted(maps.Keys(inputs)))
		}
		if err := b.unify(out, in); err != nil {
			return nil, nil, fmt.Errorf("output %q into input %q: %w", from, to, err)
		}
		fed[to] = true
		b.names[to] = a.rename(from)
	}
	return a, b, nil
}

// share compares the inputs that both models have.
func (r *renamer) share(names []string, first, second map[string]onnx.IO) error {
	for _, name := range names {
		a, ok := first[name]
		b, both := second[name]
		if !ok || !both {
			return fmt.Errorf("input %q is not in both models", name)
		}
		if err := r.unify(a, b); err != nil {
			return fmt.Errorf("shared input %q: %w", name, err)
		}
	}
	return nil
}

func byName(list []onnx.IO) map[string]onnx.IO {
	out := map[string]onnx.IO{}
	for _, v := range list {
		out[v.Name] = v
	}
	return out
}

// joinGraphs appends the nodes of b, whose fed inputs already have the names of a's outputs.
func joinGraphs(a, b *onnxpb.GraphProto, names *renamer, connect map[string]string, o MergeOptions) *onnxpb.GraphProto {
	fed := map[string]bool{}
	for from := range connect {
		fed[names.rename(from)] = true
	}
	g := &onnxpb.GraphProto{
		Name:                   proto.String(o.Name),
		Node:                   slices.Concat(a.Node, b.Node),
		Initializer:            slices.Concat(a.Initializer, b.Initializer),
		SparseInitializer:      slices.Concat(a.SparseInitializer, b.SparseInitializer),
		ValueInfo:              slices.Concat(a.ValueInfo, b.ValueInfo),
		QuantizationAnnotation: slices.Concat(a.QuantizationAnnotation, b.QuantizationAnnotation),
		Input:                  a.Input,
		Output:                 b.Output,
	}
	if o.Keep {
		g.Output = slices.Concat(a.Output, b.Output)
	}
	for _, v := range b.Input {
		switch {
		case fed[v.GetName()]:
			g.ValueInfo = append(g.ValueInfo, v) // keeps the type and shape of the former input
		case !slices.Contains(o.Share, v.GetName()):
			g.Input = append(g.Input, v)
		}
	}
	return g
}

func joinFunctions(a, b *onnxpb.ModelProto) ([]*onnxpb.FunctionProto, error) {
	key := func(f *onnxpb.FunctionProto) string {
		return f.GetDomain() + "\x00" + f.GetName() + "\x00" + f.GetOverload()
	}
	have := map[string]*onnxpb.FunctionProto{}
	for _, f := range a.GetFunctions() {
		have[key(f)] = f
	}
	list := slices.Clone(a.GetFunctions())
	for _, f := range b.GetFunctions() {
		switch old := have[key(f)]; {
		case old == nil:
			list = append(list, f)
		case !proto.Equal(old, f):
			return nil, fmt.Errorf("both models define function %q, in different ways", f.GetName())
		}
	}
	return list, nil
}
