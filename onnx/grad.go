package onnx

import (
	"fmt"
	"slices"
)

// Gradients appends nodes that compute the derivative of loss with respect to each of wrt, by reverse-mode
// differentiation, and returns one value per wrt with its type and shape. A loss with axes is summed over all of them.
// A value that loss does not depend on has the derivative 0. It is allowed to differentiate with respect to a result of
// StopGradient, which is then a leaf.
//
// Called on the body of a Loop, it differentiates inside one iteration. The error names the op that has no derivative.
func (g *Graph) Gradients(loss *Value, wrt ...*Value) ([]*Value, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if !loss.dtype.IsFloat() {
		return nil, fmt.Errorf("gradient of %q: type %s has no derivative", loss.Name(), loss.dtype)
	}
	t := &tape{g: g, leaf: map[*Value]bool{}, needs: map[*Value]bool{}, cots: map[*Value]cot{}}
	for _, v := range wrt {
		t.leaf[leafOf(v)] = true
	}
	t.add(loss, constant(1))
	for _, n := range t.path(loss) {
		if err := t.step(n); err != nil {
			return nil, err
		}
	}
	out := make([]*Value, len(wrt))
	for i, v := range wrt {
		d, ok := t.cots[leafOf(v)]
		if !ok {
			d = constant(0)
		}
		out[i] = g.sameAs(t.value(d, leafOf(v)), v)
	}
	return out, g.Err()
}

// Depends reports whether v can have a derivative with respect to x that is not 0: whether operations with a derivative
// lead from x to v.
func Depends(v, x *Value) bool {
	t := &tape{leaf: map[*Value]bool{leafOf(x): true}, needs: map[*Value]bool{}}
	return t.depends(v)
}

// sameAs gives the axes of v the names of those of like.
func (g *Graph) sameAs(v, like *Value) *Value {
	if g.Err() != nil || v.shape.Equal(like.shape) {
		return v
	}
	return g.AssumeShape(v, like.shape)
}

// leafOf is the value whose derivative is used for v.
func leafOf(v *Value) *Value {
	for v.alias != nil && !v.stop {
		v = v.alias
	}
	return v
}

// tape is one reverse pass.
type tape struct {
	g     *Graph
	leaf  map[*Value]bool
	needs map[*Value]bool // memo of depends
	cots  map[*Value]cot
}

// depends reports whether v depends differentiably on one of the leaves.
func (t *tape) depends(v *Value) bool {
	if v == nil {
		return false
	}
	if known, ok := t.needs[v]; ok {
		return known
	}
	need := t.leaf[v]
	switch {
	case need || !v.dtype.IsFloat() || v.stop:
	case v.alias != nil:
		need = t.depends(v.alias)
	case v.node != nil && !flat[v.node.op]:
		need = slices.ContainsFunc(v.node.in, t.depends)
	}
	t.needs[v] = need
	return need
}

// path lists the nodes between the leaves and v, last one first.
func (t *tape) path(v *Value) []*node {
	seen := map[*node]bool{}
	var list []*node
	var walk func(v *Value)
	walk = func(v *Value) {
		if !t.depends(v) {
			return
		}
		for v.alias != nil && !v.stop {
			v = v.alias
		}
		n := v.node
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		list = append(list, n)
		for _, in := range n.in {
			walk(in)
		}
	}
	walk(v)
	slices.SortFunc(list, func(a, b *node) int { return b.order - a.order })
	return list
}

// step passes the cotangents of a node's results on to its inputs.
func (t *tape) step(n *node) error {
	dy, reached := make([]cot, len(n.out)), false
	for i, v := range n.out {
		if d, ok := t.cots[v]; ok {
			dy[i], reached = d, true
		}
	}
	if !reached {
		return nil
	}
	// A leaf in the middle of the path may have no nodes above it.
	if !slices.ContainsFunc(n.in, t.depends) {
		return nil
	}
	r, ok := rules[n.op]
	if !ok {
		return fmt.Errorf("gradient through %q: op %s has no derivative", n.name, n.op)
	}
	r(t, n, dy)
	return t.g.Err()
}

// add adds d to the cotangent of v, which d broadcasts to.
func (t *tape) add(v *Value, d cot) {
	for {
		if v.alias == nil || t.leaf[v] {
			t.cots[v] = t.sum(t.cots[v], d)
		}
		if v.alias == nil || v.stop {
			return
		}
		d = t.rename(d, v, v.alias)
		v = v.alias
	}
}

// rename gives the axes of a cotangent of an alias the names in the underlying value.
func (t *tape) rename(d cot, alias, v *Value) cot {
	if d.v == nil || alias.shape.Equal(v.shape) {
		return d
	}
	s, lead := slices.Clone(d.v.shape), v.rank()-d.v.rank()
	for i := range s {
		if s[i].same(alias.dim(lead + i)) {
			s[i] = v.dim(lead + i)
		}
	}
	return cot{t.g.sameAs(d.v, &Value{shape: s}), d.c}
}

// cot is a cotangent, kept as small as possible: the derivative of the loss with respect to a value x is c*v, where v
// broadcasts to the shape of x. A nil v means ones. If v is not nil, c is 1 or -1.
type cot struct {
	v *Value
	c float64
}

func constant(c float64) cot { return cot{nil, c} }

func tensor(v *Value) cot { return cot{v, 1} }

func (d cot) neg() cot { return cot{d.v, -d.c} }

// sum adds two cotangents of one value.
func (t *tape) sum(a, b cot) cot {
	switch {
	case a.v == nil && b.v == nil:
		return constant(a.c + b.c)
	case a.v == nil:
		return t.sum(b, a)
	case b.v == nil && b.c == 0:
		return a
	case b.v == nil:
		return cot{t.g.Add(a.v, t.g.Scalar(a.v.dtype, b.c*a.c)), a.c}
	case a.c == b.c:
		return cot{t.g.Add(a.v, b.v), a.c}
	case a.c > 0:
		return tensor(t.g.Sub(a.v, b.v))
	default:
		return tensor(t.g.Sub(b.v, a.v))
	}
}

// scale multiplies by a number.
func (t *tape) scale(d cot, c float64) cot {
	c *= d.c
	switch {
	case d.v == nil || c == 1 || c == -1:
		return cot{d.v, c}
	case c == 0:
		return constant(0)
	default:
		return tensor(t.g.Mul(d.v, t.g.Scalar(d.v.dtype, c)))
	}
}

// mul multiplies by a value, which broadcasts to the value d belongs to.
func (t *tape) mul(d cot, v *Value) cot {
	if c, ok := scalarValue(v.base().init); ok && v.rank() == 0 {
		return t.scale(d, c)
	}
	if d.v == nil {
		return t.scale(tensor(v), d.c)
	}
	return cot{t.g.Mul(d.v, v), d.c}
}

// div divides by a value.
func (t *tape) div(d cot, v *Value) cot {
	if c, ok := scalarValue(v.base().init); ok && v.rank() == 0 && c != 0 {
		return t.scale(d, 1/c)
	}
	if d.v == nil {
		return tensor(t.g.Div(t.g.Scalar(v.dtype, d.c), v))
	}
	return cot{t.g.Div(d.v, v), d.c}
}

// loose is d as a value of type dt that only broadcasts, without its sign.
func (t *tape) loose(d cot, dt DType) (*Value, float64) {
	if d.v == nil {
		return t.g.Scalar(dt, d.c), 1
	}
	return d.v, d.c
}

// full is d stretched to the shape of like, also if d is ones.
func (t *tape) full(d cot, like *Value) cot {
	v, c := t.loose(d, like.dtype)
	return cot{t.g.ExpandLike(v, like), c}
}

// value is d as a plain value of the shape of like.
func (t *tape) value(d cot, like *Value) *Value {
	d = t.full(d, like)
	if d.c < 0 {
		return t.g.Neg(d.v)
	}
	return d.v
}

// ranked is d with leading axes of size 1 up to the rank; ones stay ones.
func (t *tape) ranked(d cot, rank int) cot {
	if d.v == nil || d.v.rank() >= rank {
		return d
	}
	var axes []int64
	for i := range rank - d.v.rank() {
		axes = append(axes, int64(i))
	}
	return cot{t.g.Unsqueeze(d.v, axes...), d.c}
}

// sumAxes is the sum of d, stretched to the shape of like, along the axes, which are kept with size 1.
func (t *tape) sumAxes(d cot, like *Value, axes []int) cot {
	if len(axes) == 0 {
		return d
	}
	d = t.ranked(d, like.rank())
	count, sum := t.split(d, like, axes)
	if !count.Known() {
		d = t.full(d, like)
		count, sum = t.split(d, like, axes)
	}
	if len(sum) > 0 {
		d = cot{t.g.ReduceSum(d.v, true, sum...), d.c}
	}
	return t.scale(d, float64(count.Size))
}

// split separates the axes along which d varies from those along which its sum is a multiple, and gives the factor.
func (t *tape) split(d cot, like *Value, axes []int) (count Dim, sum []int64) {
	var dims []Dim
	for _, i := range axes {
		switch {
		case like.dim(i).isOne():
		case d.v == nil || d.v.dim(i).isOne():
			dims = append(dims, like.dim(i))
		default:
			sum = append(sum, int64(i))
		}
	}
	return product(dims), sum
}

// sumTo reverses the broadcasting of x to the shape of from.
func (t *tape) sumTo(d cot, from, x *Value) cot {
	lead := from.rank() - x.rank()
	var axes, leading []int
	for i, dim := range from.shape {
		switch {
		case dim.isOne():
		case i < lead:
			leading = append(leading, i)
		case x.dim(i - lead).isOne():
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		d = t.sumAxes(d, from, axes)
	}
	return t.dropLeading(d, from, x.rank(), leading)
}

// dropLeading sums along the leading axes of from and leaves at most rank axes.
func (t *tape) dropLeading(d cot, from *Value, rank int, leading []int) cot {
	if d.v != nil && d.v.rank() == from.rank() && from.rank() > rank {
		if count, _ := t.split(d, from, leading); count.Known() && count.Size == 1 && len(leading) > 0 {
			return cot{t.g.ReduceSum(d.v, false, upTo(from.rank()-rank)...), d.c}
		}
	}
	d = t.sumAxes(d, from, leading)
	if d.v == nil || d.v.rank() <= rank {
		return d
	}
	return cot{t.g.Squeeze(d.v, upTo(d.v.rank()-rank)...), d.c}
}

func upTo(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}
