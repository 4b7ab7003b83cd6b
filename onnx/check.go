package onnx

import (
	"errors"
	"fmt"

	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// Check reports the first structural problem of the model, independent of the meaning of its operators: a missing
// version or operator set; empty, duplicate or undefined names; cycles, or nodes before their inputs; outputs that no
// node produces; attributes without a value; constants whose data has the wrong size or lies outside its file.
func (m *Model) Check() error {
	c := checker{domains: map[string]bool{}}
	if err := c.model(m.Proto); err != nil {
		return fmt.Errorf("check model: %w", err)
	}
	return nil
}

type checker struct{ domains map[string]bool }

func (c *checker) model(m *onnxpb.ModelProto) error {
	if m.GetIrVersion() < 3 {
		return fmt.Errorf("IR version %d, need at least 3", m.GetIrVersion())
	}
	if m.GetGraph() == nil {
		return errors.New("no graph")
	}
	for _, o := range m.GetOpsetImport() {
		d := protos.Domain(o.GetDomain())
		if c.domains[d] {
			return fmt.Errorf("operator set %q imported twice", d)
		}
		if o.GetVersion() < 1 {
			return fmt.Errorf("operator set %q has version %d", d, o.GetVersion())
		}
		c.domains[d] = true
	}
	if len(c.domains) == 0 {
		return errors.New("no operator set")
	}
	for _, f := range m.GetFunctions() {
		if err := c.function(f); err != nil {
			return fmt.Errorf("function %q: %w", f.GetName(), err)
		}
	}
	return c.graph(m.GetGraph(), nil, 0)
}

// scope is the set of names that a graph defines.
type scope struct {
	outer *scope
	names map[string]bool
}

func newScope(outer *scope) *scope { return &scope{outer, map[string]bool{}} }

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

func (s *scope) define(name string) error {
	if s.names[name] {
		return fmt.Errorf("%q is defined twice", name)
	}
	s.names[name] = true
	return nil
}

func (c *checker) graph(g *onnxpb.GraphProto, outer *scope, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("graphs nested deeper than %d", maxNesting)
	}
	s := newScope(outer)
	for _, v := range g.GetInput() {
		if v.GetName() == "" {
			return errors.New("input without a name")
		}
		if err := s.define(v.GetName()); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	if err := c.constants(g, s); err != nil {
		return err
	}
	if err := c.nodes(g.GetNode(), s, depth); err != nil {
		return err
	}
	for _, v := range g.GetOutput() {
		if v.GetName() == "" || !s.has(v.GetName()) {
			return fmt.Errorf("output %q is produced by nothing", v.GetName())
		}
	}
	return nil
}

// constants defines initializers; one may be the default of an input.
func (c *checker) constants(g *onnxpb.GraphProto, s *scope) error {
	seen := map[string]bool{}
	one := func(name string) error {
		if name == "" {
			return errors.New("initializer without a name")
		}
		if seen[name] {
			return fmt.Errorf("initializer %q is defined twice", name)
		}
		seen[name] = true
		s.names[name] = true
		return nil
	}
	for _, t := range g.GetInitializer() {
		if err := one(t.GetName()); err != nil {
			return err
		}
		if err := checkTensor(t); err != nil {
			return fmt.Errorf("initializer %q: %w", t.GetName(), err)
		}
	}
	for _, t := range g.GetSparseInitializer() {
		if err := one(t.GetValues().GetName()); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) nodes(nodes []*onnxpb.NodeProto, s *scope, depth int) error {
	for i, n := range nodes {
		if err := c.node(n, s, depth); err != nil {
			if u, ok := errors.AsType[*undefinedError](err); ok {
				err = u.explain(nodes[i:])
			}
			return fmt.Errorf("node %s: %w", protos.NodeTitle(n, i), err)
		}
	}
	return nil
}

func (c *checker) node(n *onnxpb.NodeProto, s *scope, depth int) error {
	if n.GetOpType() == "" {
		return errors.New("no operator")
	}
	if d := protos.Domain(n.GetDomain()); !c.domains[d] {
		return fmt.Errorf("operator set %q is not imported", d)
	}
	for _, name := range n.GetInput() {
		if name != "" && !s.has(name) {
			return &undefinedError{name}
		}
	}
	seen := map[string]bool{}
	for _, a := range n.GetAttribute() {
		if seen[a.GetName()] || a.GetName() == "" {
			return fmt.Errorf("attribute %q twice or without a name", a.GetName())
		}
		seen[a.GetName()] = true
		if err := c.attribute(a, s, depth); err != nil {
			return fmt.Errorf("attribute %q: %w", a.GetName(), err)
		}
	}
	for _, name := range n.GetOutput() {
		if name == "" {
			continue
		}
		if err := s.define(name); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

func (c *checker) attribute(a *onnxpb.AttributeProto, s *scope, depth int) error {
	if a.GetRefAttrName() != "" {
		return nil // its value comes from the call of a function
	}
	switch a.GetType() {
	case onnxpb.AttributeProto_GRAPH:
		if a.GetG() == nil {
			return errors.New("no graph")
		}
		return c.graph(a.GetG(), s, depth+1)
	case onnxpb.AttributeProto_GRAPHS:
		for _, g := range a.GetGraphs() {
			if err := c.graph(g, s, depth+1); err != nil {
				return err
			}
		}
	case onnxpb.AttributeProto_TENSOR:
		return checkTensor(a.GetT())
	case onnxpb.AttributeProto_TENSORS:
		for _, t := range a.GetTensors() {
			if err := checkTensor(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTensor compares the size of the data with type and shape. It ignores types that this package does not compute
// with.
func checkTensor(t *onnxpb.TensorProto) error {
	if t == nil {
		return errors.New("no tensor")
	}
	if t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		_, err := parseExternal(t)
		return err
	}
	if _, ok := dtypes[DType(t.GetDataType())]; !ok {
		_, err := elementCount(t.GetDims())
		return err
	}
	_, err := TensorFrom(t)
	return err
}

// function checks the body of a model-local function.
func (c *checker) function(f *onnxpb.FunctionProto) error {
	inner := checker{domains: map[string]bool{}}
	for _, o := range f.GetOpsetImport() {
		inner.domains[protos.Domain(o.GetDomain())] = true
	}
	s := newScope(nil)
	for _, name := range f.GetInput() {
		if err := s.define(name); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	if err := inner.nodes(f.GetNode(), s, 0); err != nil {
		return err
	}
	for _, name := range f.GetOutput() {
		if !s.has(name) {
			return fmt.Errorf("output %q is produced by nothing", name)
		}
	}
	return nil
}

// undefinedError is an input that no earlier node produces.
type undefinedError struct{ name string }

func (e *undefinedError) Error() string {
	return fmt.Sprintf("input %q is not defined anywhere", e.name)
}

// explain looks for the input in the nodes from the failing one on: it may be an indirect result of the node itself (a
// cycle), of a later node, or of none.
func (e *undefinedError) explain(rest []*onnxpb.NodeProto) error {
	maker := map[string]*onnxpb.NodeProto{}
	for _, n := range rest {
		for _, name := range n.GetOutput() {
			maker[name] = n
		}
	}
	first := maker[e.name]
	if first == nil {
		return e
	}
	seen := map[*onnxpb.NodeProto]bool{}
	queue := []*onnxpb.NodeProto{first}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if n == rest[0] {
			return fmt.Errorf("input %q depends on the node's own output: a cycle", e.name)
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range n.GetInput() {
			if p := maker[in]; p != nil {
				queue = append(queue, p)
			}
		}
	}
	return fmt.Errorf("input %q is produced by a later node", e.name)
}
