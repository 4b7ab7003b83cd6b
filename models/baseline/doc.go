// Package baseline chooses actions by rules that nothing is trained for: fixed
// pairs, random pairs, the cheapest pair of every row, and cost regression by
// nearest neighbours. A learned policy is compared with them.
//
// Rules see a cost tensor (costs). The neighbours are found by matrix products
// in the runtime (onnx/ort) on standardised features (models/network).
package baseline
