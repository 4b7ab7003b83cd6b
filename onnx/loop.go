package onnx

import (
	"fmt"
	"slices"
)

// Loop runs body trip times (an int64 scalar, at least 0). The body graph b
// gets the iteration number (int64 scalar, from 0) and the carried values,
// which start as state; it may use values of g and of the graphs around it
// directly. It returns the next carried values, with the types and shapes of
// state, and values to collect: scans[i] has a new first axis of trip
// elements. The carried values after the last iteration are final.
//
// Gradients can be taken inside the body, but not through the Loop.
func (g *Graph) Loop(trip *Value, state []*Value,
	body func(b *Graph, iter *Value, carried []*Value) (next, scan []*Value),
) (final, scans []*Value) {
	if g.Err() != nil {
		return g.inert(len(state)), nil
	}
	if trip.dtype != Int64 || trip.rank() != 0 {
		g.fail("Loop", fmt.Errorf("trip count is %s %s", trip.dtype, trip.shape))
		return g.inert(len(state)), nil
	}
	b := &Graph{name: g.fresh("body"), parent: g, scope: g.scope, shared: g.shared, seen: map[string][]*Value{}}
	iter := b.Input(b.freshUntaken("iter"), Int64, nil)
	again := b.Input(b.freshUntaken("cond"), Bool, nil)
	carried := make([]*Value, len(state))
	for i, v := range state {
		carried[i] = b.Input(b.freshUntaken("carried"), v.dtype, v.shape)
	}
	next, scan := body(b, iter, carried)
	if g.Err() == nil {
		if err := matchState(state, next); err != nil {
			g.fail("Loop", err)
		}
	}
	if g.Err() != nil {
		return g.inert(len(state)), g.inert(len(scan))
	}
	b.result(again)
	for _, v := range slices.Concat(next, scan) {
		b.result(v)
	}
	return g.closeLoop(b, trip, state, scan)
}

func matchState(state, next []*Value) error {
	if len(next) != len(state) {
		return fmt.Errorf("body returns %d carried values of %d", len(next), len(state))
	}
	for i, v := range next {
		if v.dtype != state[i].dtype || !v.shape.Equal(state[i].shape) {
			return fmt.Errorf("carried value %d starts as %s %s and becomes %s %s",
				i, state[i].dtype, state[i].shape, v.dtype, v.shape)
		}
	}
	return nil
}

// result appends an output of a body. Outputs need distinct names, so inputs, captured values and repeated values pass
// through an Identity.
func (g *Graph) result(v *Value) {
	b := v.base()
	if b.g != g || b.node == nil || slices.Contains(g.outputs, b) {
		b = g.emitNew("Identity", []*Value{v}, v.dtype, v.shape)
	}
	g.outputs = append(g.outputs, b)
}

func (g *Graph) closeLoop(b *Graph, trip *Value, state, scan []*Value) (final, scans []*Value) {
	var out []*Value
	for _, v := range state {
		out = append(out, &Value{dtype: v.dtype, shape: v.shape})
	}
	times := Sym("")
	if n, ok := scalarValue(trip.base().init); ok {
		times = Fix(int64(n))
	} else if len(scan) > 0 {
		times = Sym(g.fresh("dim"))
	}
	for _, v := range scan {
		out = append(out, &Value{dtype: v.dtype, shape: append(Shape{times}, v.shape...)})
	}
	in := append([]*Value{trip, nil}, state...)
	if !g.usable("Loop", in) {
		return g.inert(len(state)), g.inert(len(scan))
	}
	if len(out) == 0 {
		g.fail("Loop", fmt.Errorf("no carried values and nothing collected"))
		return nil, nil
	}
	g.append("Loop", in, out, nil).bodies = []*Graph{b}
	return out[:len(state)], out[len(state):]
}
