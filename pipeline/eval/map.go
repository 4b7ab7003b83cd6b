package eval

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"pipe/models"
	"pipe/pipeline/findings"
	"pipe/pipeline/report"
	"pipe/pipeline/report/figure"
)

// mostMapped is how many rows a map has: more would hide each other.
const mostMapped = 600

// pairMap shows rows in a plane of their features, with the pairs that the policy of the verdict chose; nil if there is no policy, or
// nothing to see.
func (e *evaluation) pairMap(lambdas []float64) *figure.Figure {
	if e.t.Dim < 2 || len(lambdas) == 0 {
		return nil
	}
	lambda := report.MiddleLambda(lambdas)
	p := findings.Preferred(e.policies(lambda))
	if p == nil {
		return nil
	}
	m := &report.PairMap{Method: p.Method, Lambda: lambda, Rows: len(e.rows), Features: e.t.Dim == 2, Order: e.t.Actions.Names()}
	shown := min(len(e.rows), mostMapped)
	features := make([][]float32, shown)
	for i := range features {
		at := i * len(e.rows) / shown
		features[i] = e.t.Row(e.rows[at])
		m.Pairs = append(m.Pairs, e.t.Actions.Name(p.Action[at]))
	}
	if m.Features {
		for _, row := range features {
			m.Points = append(m.Points, [2]float64{float64(row[0]), float64(row[1])})
		}
		return m.Figure()
	}
	var ok bool
	if m.Points, m.Held, ok = components(features); !ok {
		return nil
	}
	return m.Figure()
}

// components are the rows in the plane of their first two principal components, and the share of the variance that the plane holds.
// Features are scaled to the same variance first. ok is false if there are no two components.
//
// The components are computed from the products of rows, n x n, because there are few rows and often many features.
func components(rows [][]float32) (points [][2]float64, held float64, ok bool) {
	n := len(rows)
	if n < 3 {
		return nil, 0, false
	}
	var columns []float64 // n x kept features
	kept := 0
	scaled := make([][]float64, n)
	for f := range rows[0] {
		values := make([]float64, n)
		for i, row := range rows {
			values[i] = float64(row[f])
		}
		mean, std := models.MeanStd(values)
		if !(std > 0) || math.IsInf(std, 0) {
			continue
		}
		kept++
		for i, v := range values {
			scaled[i] = append(scaled[i], (v-mean)/std)
		}
	}
	if kept < 2 {
		return nil, 0, false
	}
	for _, row := range scaled {
		columns = append(columns, row...)
	}
	x := mat.NewDense(n, kept, columns)
	products := mat.NewSymDense(n, nil)
	products.SymOuterK(1, x)
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		return nil, 0, false
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // ascending
	if !(values[n-2] > 1e-9*values[n-1]) {
		return nil, 0, false
	}
	points = make([][2]float64, n)
	for k := range 2 {
		column := n - 1 - k
		largest := 0.0
		for i := range n {
			if v := vectors.At(i, column); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		size := math.Copysign(math.Sqrt(values[column]), largest) // the sign of a component means nothing: the farthest row is positive
		for i := range n {
			points[i][k] = size * vectors.At(i, column)
		}
	}
	return points, (values[n-1] + values[n-2]) / mat.Trace(products), true
}
