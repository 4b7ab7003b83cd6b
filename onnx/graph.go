package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Graph collects nodes. Every op method appends at most one node, infers type and shape of its result, and returns the
// result. The first error is kept, names the op and the shapes, and turns later calls into no-ops; Build and Err return
// it. A graph is not safe for concurrent use.
type Graph struct {
	name    string
	parent  *Graph // of a Loop body or a branch
	scope   string // in front of the names of constants, within a branch
	shared  *shared
	nodes   []*node
	inputs  []*Value
	outputs []*Value
	inits   []*Value
	seen    map[string][]*Value // results of nodes and small constants by content
}

// shared is what a graph, its Loop bodies and its branches have in common.
type shared struct {
	err   error
	count int // of nodes and constants made, for names and order
	names map[string]bool
}

// Value is the result of a node, an input or a constant of a graph.
type Value struct {
	g     *Graph
	dtype DType
	shape Shape
	name  string
	fixed bool // the name was chosen by the caller

	node  *node   // producer; nil for inputs and constants
	init  *Tensor // of a constant
	alias *Value  // the same data with another shape or without gradient
	stop  bool    // of an alias: no gradient flows to it
}

// node is one operation. Omitted optional inputs are nil.
type node struct {
	order int // later nodes have higher numbers, across Loop bodies too
	op    string
	name  string
	in    []*Value
	out   []*Value
	attrs []attr
	// of a Loop its body, of an If its branches
	bodies []*Graph
}

// attr is an attribute: int64, float32, string, a list of one of these, or a *Tensor.
type attr struct {
	name  string
	value any
}

func (n *node) attr(name string) any {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value
		}
	}
	return nil
}

func (n *node) int(name string) int64 {
	v, _ := n.attr(name).(int64)
	return v
}

func (n *node) ints(name string) []int64 {
	v, _ := n.attr(name).([]int64)
	return v
}

// DType is the element type.
func (v *Value) DType() DType { return v.dtype }

// Shape is the inferred shape; the caller must not change it.
func (v *Value) Shape() Shape { return v.shape }

// Name is the name that the value has in the file.
func (v *Value) Name() string { return v.base().name }

// base follows aliases to the value that exists in the file.
func (v *Value) base() *Value {
	for v.alias != nil {
		v = v.alias
	}
	return v
}

func (v *Value) rank() int { return len(v.shape) }

func (v *Value) dim(i int) Dim { return v.shape[i] }

// NewGraph starts an empty graph.
func NewGraph(name string) *Graph {
	return &Graph{
		name:   name,
		shared: &shared{names: map[string]bool{}},
		seen:   map[string][]*Value{},
	}
}

// Err is the first error of any op so far.
func (g *Graph) Err() error { return g.shared.err }

func (g *Graph) fail(op string, err error) *Value {
	if g.shared.err == nil {
		g.shared.err = fmt.Errorf("build graph %q: %s: %w", g.name, op, err)
	}
	return &Value{g: g}
}

// fresh makes a name that no other value of the graph has.
func (g *Graph) fresh(prefix string) string {
	for {
		g.shared.count++
		name := fmt.Sprintf("%s_%d", prefix, g.shared.count)
		if !g.shared.names[name] {
			g.shared.names[name] = true
			return name
		}
	}
}

func (g *Graph) take(name string) error {
	if name == "" {
		return errors.New("empty name")
	}
	if g.shared.names[name] {
		return fmt.Errorf("name %q is already used", name)
	}
	g.shared.names[name] = true
	return nil
}

// Input declares an input. Symbolic axes are given by name.
func (g *Graph) Input(name string, t DType, s Shape) *Value {
	if err := g.take(name); err != nil {
		return g.fail("input", err)
	}
	v := &Value{g: g, dtype: t, shape: slices.Clone(s), name: name, fixed: true}
	g.inputs = append(g.inputs, v)
	return v
}

// Output makes v an output called name. Outputs keep the order of the calls.
func (g *Graph) Output(name string, v *Value) {
	if g.Err() != nil {
		return
	}
	b := v.base()
	if b.g != g || b.node == nil || b.fixed {
		b = g.emitNew("Identity", []*Value{v}, b.dtype, b.shape)
	}
	delete(g.shared.names, b.name)
	if err := g.take(name); err != nil {
		g.fail("output", err)
		return
	}
	b.name, b.fixed = name, true
	// The declared shape is the caller's view of the value.
	b.shape = v.shape
	g.outputs = append(g.outputs, b)
}

// smallConstant is the size in bytes up to which equal constants are merged.
const smallConstant = 4096

// Const adds a constant (an initializer). Equal small constants are merged.
func (g *Graph) Const(t *Tensor) *Value {
	key := ""
	if len(t.Raw) <= smallConstant && t.DType != String {
		key = fmt.Sprintf("const %d %v %x", t.DType, t.Shape, t.Raw)
		if v := g.lookup(key); v != nil {
			return v[0]
		}
	}
	v := g.NamedConst(g.freshUntaken("const"), t)
	if key != "" && g.Err() == nil {
		g.seen[key] = []*Value{v}
	}
	return v
}

// freshUntaken is fresh for callers that register the name themselves.
func (g *Graph) freshUntaken(prefix string) string {
	name := g.fresh(prefix)
	delete(g.shared.names, name)
	return name
}

// NamedConst adds a constant with the given name, after that of the branch of an [Graph.If] that it is in. It is merged with no
// other.
func (g *Graph) NamedConst(name string, t *Tensor) *Value {
	if g.Err() != nil {
		return &Value{g: g}
	}
	if err := t.Validate(); err != nil {
		return g.fail("constant "+name, err)
	}
	name = g.scope + name
	if err := g.take(name); err != nil {
		return g.fail("constant", err)
	}
	v := &Value{g: g, dtype: t.DType, shape: Dims(t.Shape...), name: name, fixed: true, init: t}
	g.inits = append(g.inits, v)
	return v
}

// Scalar is a constant without axes: float32, float64, int32, int64 or bool.
func (g *Graph) Scalar(t DType, v float64) *Value {
	c, err := scalarTensor(t, v)
	if err != nil {
		return g.fail("scalar", err)
	}
	return g.Const(c)
}

func (g *Graph) int64s(v ...int64) *Value {
	return g.Const(Int64s([]int64{int64(len(v))}, v))
}

// lookup finds an equal node or constant in this graph or an enclosing one.
func (g *Graph) lookup(key string) []*Value {
	for s := g; s != nil; s = s.parent {
		if v, ok := s.seen[key]; ok {
			return v
		}
	}
	return nil
}

// emit appends a node with one result, or returns the result of an equal node.
func (g *Graph) emit(op string, in []*Value, t DType, s Shape, attrs ...attr) *Value {
	return g.emitMany(op, in, []*Value{{dtype: t, shape: s}}, attrs...)[0]
}

func (g *Graph) emitMany(op string, in, out []*Value, attrs ...attr) []*Value {
	if !g.usable(op, in) {
		return g.inert(len(out))
	}
	key := nodeKey(op, in, attrs)
	if v := g.lookup(key); v != nil && len(v) == len(out) && v[0].shape.Equal(out[0].shape) {
		return v
	}
	g.append(op, in, out, attrs)
	g.seen[key] = out
	return out
}

// emitNew appends a node even if an equal one exists.
func (g *Graph) emitNew(op string, in []*Value, t DType, s Shape) *Value {
	out := []*Value{{dtype: t, shape: s}}
	if !g.usable(op, in) {
		return g.inert(1)[0]
	}
	g.append(op, in, out, nil)
	return out[0]
}

func (g *Graph) inert(n int) []*Value {
	out := make([]*Value, n)
	for i := range out {
		out[i] = &Value{g: g}
	}
	return out
}

func (g *Graph) append(op string, in, out []*Value, attrs []attr) *node {
	n := &node{op: op, in: in, out: out, attrs: attrs}
	for i, v := range out {
		v.g, v.node, v.name = g, n, g.fresh(op)
		if i == 0 {
			n.name, n.order = v.name, g.shared.count
		}
	}
	g.nodes = append(g.nodes, n)
	return n
}

// usable checks that the graph has no error and can use every input.
func (g *Graph) usable(op string, in []*Value) bool {
	if g.Err() != nil {
		return false
	}
	for _, v := range in {
		if v != nil && !g.sees(v) {
			g.fail(op, fmt.Errorf("value %q belongs to another graph", v.Name()))
			return false
		}
	}
	return true
}

// sees reports whether v belongs to g or an enclosing graph.
func (g *Graph) sees(v *Value) bool {
	for s := g; s != nil; s = s.parent {
		if v.g == s {
			return true
		}
	}
	return false
}

func nodeKey(op string, in []*Value, attrs []attr) string {
	var b strings.Builder
	b.WriteString(op)
	for _, v := range in {
		// Aliases are not resolved, because gradients distinguish them.
		fmt.Fprintf(&b, " %p", v)
	}
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s=%v", a.name, a.value)
	}
	return b.String()
}

// StopGradient is v itself, but no gradient flows through the result.
func (g *Graph) StopGradient(v *Value) *Value {
	return &Value{g: v.g, dtype: v.dtype, shape: v.shape, alias: v, stop: true}
}

// AssumeShape is v with a shape that the caller knows better than inference does: the rank and axes of known size must
// agree.
func (g *Graph) AssumeShape(v *Value, s Shape) *Value {
	if g.Err() != nil {
		return &Value{g: g}
	}
	if len(s) != v.rank() {
		return g.fail("assume shape", fmt.Errorf("%s for a value of shape %s", s, v.shape))
	}
	for i, d := range s {
		if d.Known() && v.dim(i).Known() && d.Size != v.dim(i).Size {
			return g.fail("assume shape", fmt.Errorf("%s for a value of shape %s", s, v.shape))
		}
	}
	return &Value{g: v.g, dtype: v.dtype, shape: slices.Clone(s), alias: v}
}
