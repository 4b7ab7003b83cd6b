package onnx

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/internal/atomicfile"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// Model is the content of a model file.
type Model struct {
	Proto *onnxpb.ModelProto
}

// IO is an input or output of a model. Axes whose size is open and unnamed, or negative, in the file are called "?"; a
// nil Shape means an unknown rank.
type IO struct {
	Name  string
	DType DType
	Shape Shape
}

// Inputs lists the inputs that a caller must feed, in the order of the file: graph inputs without an initializer.
func (m *Model) Inputs() []IO {
	g := m.Proto.GetGraph()
	has := map[string]bool{}
	for _, t := range g.GetInitializer() {
		has[t.GetName()] = true
	}
	var list []IO
	for _, v := range g.GetInput() {
		if !has[v.GetName()] {
			list = append(list, ioOf(v))
		}
	}
	return list
}

// Outputs lists the results in the order of the file.
func (m *Model) Outputs() []IO {
	var list []IO
	for _, v := range m.Proto.GetGraph().GetOutput() {
		list = append(list, ioOf(v))
	}
	return list
}

// WithOutputs is the model with only some of its outputs, in the order given. It shares nodes and constants with m;
// nodes that only other outputs need stay, and cost nothing at run time.
func (m *Model) WithOutputs(names ...string) (*Model, error) {
	all := map[string]*onnxpb.ValueInfoProto{}
	for _, v := range m.Proto.GetGraph().GetOutput() {
		all[v.GetName()] = v
	}
	out := m.shallow()
	out.Proto.Graph.Output = nil
	for _, name := range names {
		if all[name] == nil {
			return nil, fmt.Errorf("select outputs: the model has no output %q, it has %q", name, slices.Sorted(maps.Keys(all)))
		}
		out.Proto.Graph.Output = append(out.Proto.Graph.Output, all[name])
	}
	return out, nil
}

// WithConstants is the model with constants in place of some of its inputs, by name. A constant of another type, or of a
// shape that the input does not have, is an error. It shares nodes and constants with m.
func (m *Model) WithConstants(values map[string]*Tensor) (*Model, error) {
	out := m.shallow()
	inputs := map[string]IO{}
	for _, in := range m.Inputs() {
		inputs[in.Name] = in
	}
	g := out.Proto.Graph
	g.Initializer = slices.Clone(g.GetInitializer())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		in, ok := inputs[name]
		if !ok {
			return nil, fmt.Errorf("fix inputs: the model has no input %q, it has %q", name, slices.Sorted(maps.Keys(inputs)))
		}
		if v := values[name]; v.DType != in.DType || in.Shape != nil && !in.Shape.allows(v.Shape) {
			return nil, fmt.Errorf("fix inputs: %q is %v %v, the constant is %v %v", name, in.DType, in.Shape, v.DType, v.Shape)
		}
		g.Initializer = append(g.Initializer, values[name].Proto(name))
	}
	g.Input = slices.DeleteFunc(slices.Clone(g.GetInput()), func(v *onnxpb.ValueInfoProto) bool { return values[v.GetName()] != nil })
	return out, nil
}

// shallow is a model with a graph of its own, which shares its nodes and constants with m.
func (m *Model) shallow() *Model {
	out := &Model{Proto: &onnxpb.ModelProto{}}
	protos.Shallow(out.Proto, m.Proto)
	out.Proto.Graph = &onnxpb.GraphProto{}
	protos.Shallow(out.Proto.Graph, m.Proto.GetGraph())
	return out
}

func ioOf(v *onnxpb.ValueInfoProto) IO {
	t := v.GetType().GetTensorType()
	io := IO{Name: v.GetName(), DType: DType(t.GetElemType())}
	if t.GetShape() != nil {
		io.Shape = Shape{} // a scalar; nil would mean an unknown rank
	}
	for _, d := range t.GetShape().GetDim() {
		switch x := d.GetValue().(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			io.Shape = append(io.Shape, sizeOf(x.DimValue))
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			io.Shape = append(io.Shape, Sym(cmp.Or(x.DimParam, "?")))
		default:
			io.Shape = append(io.Shape, Sym("?"))
		}
	}
	return io
}

// sizeOf reads a size; some exporters write negative sizes for open axes.
func sizeOf(n int64) Dim {
	if n < 0 {
		return Sym("?")
	}
	return Fix(n)
}

// Metadata copies the key-value pairs of the file.
func (m *Model) Metadata() map[string]string {
	out := map[string]string{}
	for _, p := range m.Proto.GetMetadataProps() {
		out[p.GetKey()] = p.GetValue()
	}
	return out
}

// SetMetadata replaces the key-value pairs; they are written in sorted order.
func (m *Model) SetMetadata(pairs map[string]string) {
	m.Proto.MetadataProps = nil
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		m.Proto.MetadataProps = append(m.Proto.MetadataProps,
			&onnxpb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(pairs[k])})
	}
}

// Marshal gives the bytes of the file; equal models give equal bytes. A model of 2 GB or more does not fit into one
// file: WriteExternal splits it.
func (m *Model) Marshal() ([]byte, error) {
	if size := proto.Size(m.Proto); size > math.MaxInt32 {
		return nil, fmt.Errorf("marshal model: %d bytes do not fit one file of 2 GB", size)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Proto)
	if err != nil {
		return nil, fmt.Errorf("marshal model: %w", err)
	}
	return b, nil
}

// WriteFile writes the model so that path contains either its old content or the whole model, also after a crash.
func (m *Model) WriteFile(path string) error {
	b, err := m.Marshal()
	if err != nil {
		return fmt.Errorf("write model %q: %w", path, err)
	}
	err = writeAtomic(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("write model %q: %w", path, err)
	}
	return nil
}

// writeAtomic fills a temporary file in the folder of path and renames it when everything is on disk.
func writeAtomic(path string, fill func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := fill(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// Digest identifies what the graph computes, in hexadecimal: its nodes and its constants. Metadata, operator sets, the
// name of the graph and its declared shapes of intermediate values are not included.
func (m *Model) Digest() (string, error) {
	g := m.Proto.GetGraph()
	b, err := (&Model{Proto: &onnxpb.ModelProto{Graph: &onnxpb.GraphProto{
		Node: g.GetNode(), Initializer: g.GetInitializer(), SparseInitializer: g.GetSparseInitializer(),
	}, Functions: m.Proto.GetFunctions()}}).Marshal()
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}
