// Package baseline chooses actions by simple rules that need no training: fixed pairs, random pairs, the cheapest pair
// of every row, and cost regression by nearest neighbours. Learned policies are compared with them.
//
// Rules read a cost tensor (costs). Neighbours are found by matrix products in the runtime (onnx/ort) on standardised
// features (models/network).
package baseline
