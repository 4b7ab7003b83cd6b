// Package onnxtest has what tests of models share: small models, and an evaluator
// in plain Go that is independent of any runtime.
package onnxtest
