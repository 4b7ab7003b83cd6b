package onnx

import "fmt"

// If is what yes returns where cond, a bool scalar, is true, and else what no returns. Only that branch runs. Both may use
// values of g and of the graphs around it directly, and return values of the same types and ranks; an axis on whose size
// they do not agree has a new name. The names of the constants within a branch start with that of the branch, so that the same function
// can build several.
//
// Gradients can be taken inside a branch, but not through the If.
func (g *Graph) If(cond *Value, yes, no func(b *Graph) []*Value) []*Value {
	if g.Err() != nil {
		return nil
	}
	if cond.dtype != Bool || cond.rank() != 0 {
		g.fail("If", fmt.Errorf("the condition is %s %s", cond.dtype, cond.shape))
		return nil
	}
	then, a := g.branch("then", yes)
	other, b := g.branch("else", no)
	if g.Err() != nil {
		return g.inert(len(a))
	}
	out, err := g.either(a, b)
	if err != nil {
		g.fail("If", err)
		return g.inert(len(a))
	}
	if !g.usable("If", []*Value{cond}) {
		return g.inert(len(a))
	}
	g.append("If", []*Value{cond}, out, nil).bodies = []*Graph{then, other}
	return out
}

// branch builds one branch.
func (g *Graph) branch(prefix string, build func(*Graph) []*Value) (*Graph, []*Value) {
	b := &Graph{name: g.fresh(prefix), parent: g, shared: g.shared, seen: map[string][]*Value{}}
	b.scope = b.name + "/"
	out := build(b)
	if g.Err() != nil {
		return b, out
	}
	for _, v := range out {
		b.result(v)
	}
	return b, out
}

// either are the results of two branches.
func (g *Graph) either(a, b []*Value) (out []*Value, err error) {
	if len(a) == 0 || len(a) != len(b) {
		return nil, fmt.Errorf("the branches return %d and %d values", len(a), len(b))
	}
	for i, v := range a {
		if v.dtype != b[i].dtype || v.rank() != b[i].rank() {
			return nil, fmt.Errorf("value %d is %s %s in one branch and %s %s in the other", i, v.dtype, v.shape, b[i].dtype, b[i].shape)
		}
		shape := make(Shape, v.rank())
		for axis, d := range v.shape {
			if shape[axis] = d; d != b[i].shape[axis] {
				shape[axis] = Sym(g.fresh("dim"))
			}
		}
		out = append(out, &Value{dtype: v.dtype, shape: shape})
	}
	return out, nil
}
