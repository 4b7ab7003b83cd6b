package estimate

import "pipe/onnx"

// Estimator estimates the expected loss of every pair, task loss with measured fees, from a row of standardised features.
type Estimator interface {
	// Kind names the family in metadata and reports, such as "ridge".
	Kind() string
	// Check returns why it cannot take rows of dim features, or does not estimate as many pairs: shapes that do not
	// match, or numbers that are not finite.
	Check(dim, pairs int) error
	// Estimate writes an estimate per pair to dst; x has a value per feature. It is the reference of Graph, and must
	// be called only if Check returns nil.
	Estimate(dst, x []float64)
	// Graph adds the estimator on x, rows x dim, to g and returns rows x pairs. The names of its constants start with
	// prefix.
	Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value
}
