package lexical

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"pipe/internal/seeded"
)

// operator multiplies a symmetric positive semidefinite matrix of the given size with the columns of src.
type operator struct {
	size  int
	times func(ctx context.Context, dst, src block) error
}

const (
	blockWidth = 8     // vectors of a step; more equal eigenvalues than that can be missed
	tolerance  = 1e-10 // residual of an eigenvector, relative to the largest eigenvalue
	breakdown  = 1e-12 // a vector that orthogonalisation leaves so small has nothing new
)

// lanczos finds the largest eigenvalues of a matrix: block Lanczos with full reorthogonalisation (Golub and Underwood,
// 1977). The basis grows until the residuals are small, at most until it is the whole space.
type lanczos struct {
	a      operator
	random *rand.Rand
	basis  blas64.General // size x used columns of most: orthonormal
	within [][]float64    // of the matrix in the basis: columns, each as long as the basis was then
	rest   blas64.General // width x width: the next block times this is what the basis leaves of the last product
}

// eigenpairs are eigenvalues, falling, and the eigenvectors in columns.
type eigenpairs struct {
	values  []float64
	vectors block // size x len(values)
}

// largest returns the largest eigenvalues of a matrix; count is at most its size. progress is called with the share of the
// work that is done, which is a guess.
func largest(ctx context.Context, a operator, count int, seed uint64, progress func(share float64)) (*eigenpairs, error) {
	l := &lanczos{a: a, random: seeded.Stream(seed, "lexical", 0)}
	width := min(blockWidth, a.size)
	next := newBlock(a.size, width)
	for i := range next.data {
		next.data[i] = l.random.NormFloat64()
	}
	l.basis = blas64.General{Rows: a.size}
	l.rest = l.orthonormalise(next)
	for check := min(a.size, 3*count+8*width); ; check = min(a.size, check+check/8+1) {
		for l.basis.Cols < check {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var err error
			if next, err = l.step(ctx, next); err != nil {
				return nil, err
			}
			progress(float64(l.basis.Cols) / float64(min(a.size, 4*count+4*width)))
		}
		if found, err := l.solve(count); found != nil || err != nil {
			return found, err
		}
	}
}

// step adds a block to the basis, and returns the next one.
func (l *lanczos) step(ctx context.Context, q block) (block, error) {
	q = q.first(min(q.width, l.a.size-l.basis.Cols))
	l.append(q)
	product := newBlock(q.rows, q.width)
	if err := l.a.times(ctx, product, q); err != nil {
		return q, err
	}
	inside := l.project(product)
	for c := range q.width {
		column := make([]float64, l.basis.Cols)
		for i := range column {
			column[i] = inside.Data[i*inside.Stride+c]
		}
		l.within = append(l.within, column)
	}
	l.rest = l.orthonormalise(product)
	return product, nil
}

// append adds orthonormal columns to the basis.
func (l *lanczos) append(q block) {
	used := l.basis.Cols
	if used+q.width > l.basis.Stride {
		grown := blas64.General{Rows: q.rows, Cols: used, Stride: min(l.a.size, max(2*l.basis.Stride, 16*q.width))}
		grown.Data = make([]float64, grown.Rows*grown.Stride)
		for i := range q.rows {
			copy(grown.Data[i*grown.Stride:], l.basis.Data[i*l.basis.Stride:i*l.basis.Stride+used])
		}
		l.basis = grown
	}
	for i := range q.rows {
		copy(l.basis.Data[i*l.basis.Stride+used:], q.row(i))
	}
	l.basis.Cols += q.width
}

// project removes from x what lies in the basis, and returns its coordinates: used x width. Once more than needed in
// exact arithmetic, against rounding.
func (l *lanczos) project(x block) blas64.General {
	out := blas64.General{Rows: l.basis.Cols, Cols: x.width, Stride: x.width, Data: make([]float64, l.basis.Cols*x.width)}
	if l.basis.Cols == 0 {
		return out
	}
	more := out
	more.Data = make([]float64, len(out.Data))
	for range 2 {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, l.basis, x.general(), 0, more)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, l.basis, more, 1, x.general())
		for i, v := range more.Data {
			out.Data[i] += v
		}
	}
	return out
}

// orthonormalise makes the columns of x, which are orthogonal to the basis, orthonormal, and returns the factor that
// restores them. A column with nothing new becomes a random one, with 0 in the factor, so that the iteration goes on in
// what the basis lacks.
func (l *lanczos) orthonormalise(x block) blas64.General {
	r := blas64.General{Rows: x.width, Cols: x.width, Stride: x.width, Data: make([]float64, x.width*x.width)}
	scale := 0.0
	for c := range x.width {
		scale = max(scale, math.Sqrt(x.dot(c, c)))
	}
	for c := range x.width {
		was := math.Sqrt(x.dot(c, c))
		for range 2 {
			for b := range c {
				r.Data[b*r.Stride+c] += x.remove(c, b)
			}
		}
		length := math.Sqrt(x.dot(c, c))
		r.Data[c*r.Stride+c] = length
		if length <= breakdown*max(scale, was) || length < math.SmallestNonzeroFloat64*1e16 {
			r.Data[c*r.Stride+c] = 0
			l.renew(x, c)
			continue
		}
		x.scale(c, 1/length)
	}
	l.project(x) // a short column has kept little of its orthogonality
	for c := range x.width {
		for b := range c {
			x.remove(c, b)
		}
		x.scale(c, 1/math.Sqrt(x.dot(c, c)))
	}
	return r
}

// renew makes column c of x a random one, orthogonal to the basis and to the columns before it.
func (l *lanczos) renew(x block, c int) {
	if l.basis.Cols+c >= x.rows {
		return // the basis is the whole space: the column is not used
	}
	column := newBlock(x.rows, 1)
	for {
		for i := range column.data {
			column.data[i] = l.random.NormFloat64()
		}
		l.project(column)
		for i, v := range column.data {
			x.data[i*x.width+c] = v
		}
		before := x.dot(c, c)
		for range 2 {
			for b := range c {
				x.remove(c, b)
			}
		}
		if after := x.dot(c, c); after > 1e-8*before && after > 0 {
			x.scale(c, 1/math.Sqrt(after))
			return
		}
	}
}

// solve returns the largest eigenpairs if their residuals are small or the basis is the whole space, else nil.
func (l *lanczos) solve(count int) (*eigenpairs, error) {
	used := l.basis.Cols
	if used < count {
		return nil, nil
	}
	small := mat.NewSymDense(used, nil)
	for c, column := range l.within {
		for i := range min(len(column), c+1) {
			small.SetSym(i, c, column[i])
		}
	}
	var e mat.EigenSym
	if !e.Factorize(small, true) {
		return nil, errors.New("the eigenvalues of a projected matrix were not found")
	}
	values := e.Values(nil) // rising
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	top := vectors.Slice(0, used, used-count, used).(*mat.Dense)
	if used < l.a.size && l.residual(top) > tolerance*values[used-1] {
		return nil, nil
	}
	found := &eigenpairs{values: make([]float64, count), vectors: newBlock(l.a.size, count)}
	rising := newBlock(l.a.size, count)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, l.basis, top.RawMatrix(), 0, rising.general())
	for c := range count {
		found.values[c] = values[used-1-c]
		for i := range l.a.size {
			found.vectors.data[i*count+c] = rising.data[i*count+count-1-c]
		}
	}
	return found, nil
}

// residual is the largest length of what the matrix makes of an eigenvector and the basis lacks.
func (l *lanczos) residual(vectors *mat.Dense) float64 {
	used, count := vectors.Dims()
	last := vectors.Slice(used-l.rest.Cols, used, 0, count).(*mat.Dense).RawMatrix()
	out := blas64.General{Rows: l.rest.Rows, Cols: count, Stride: count, Data: make([]float64, l.rest.Rows*count)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, l.rest, last, 0, out)
	worst := 0.0
	for c := range count {
		square := 0.0
		for i := range out.Rows {
			square += out.Data[i*count+c] * out.Data[i*count+c]
		}
		worst = max(worst, math.Sqrt(square))
	}
	return worst
}

func (b *block) general() blas64.General {
	return blas64.General{Rows: b.rows, Cols: b.width, Stride: b.width, Data: b.data}
}

// first is a copy of the first columns.
func (b *block) first(width int) block {
	if width == b.width {
		return *b
	}
	out := newBlock(b.rows, width)
	for i := range b.rows {
		copy(out.row(i), b.row(i))
	}
	return out
}

// dot is the product of two columns.
func (b *block) dot(c, d int) (sum float64) {
	for at := 0; at < len(b.data); at += b.width {
		sum += b.data[at+c] * b.data[at+d]
	}
	return sum
}

// remove subtracts from column c its part along column d, of length 1, and returns how much that is.
func (b *block) remove(c, d int) float64 {
	part := b.dot(c, d)
	for at := 0; at < len(b.data); at += b.width {
		b.data[at+c] -= part * b.data[at+d]
	}
	return part
}

func (b *block) scale(c int, by float64) {
	for at := 0; at < len(b.data); at += b.width {
		b.data[at+c] *= by
	}
}
