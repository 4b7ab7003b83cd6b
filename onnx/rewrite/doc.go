// Package rewrite makes new models from existing ones: it merges two into one, splits one into two, converts weights to
// float16, narrows an output to chosen rows, and raises an old operator set to a newer one. The given model is not
// changed, and the result shares its constants if they do not change.
//
// It reads and checks models with package onnx, which does not depend on it.
package rewrite
