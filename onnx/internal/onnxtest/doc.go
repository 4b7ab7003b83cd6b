// Package onnxtest has shared test helpers: small models, and an evaluator in plain Go that is independent of any
// runtime.
package onnxtest
