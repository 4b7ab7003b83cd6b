package models

import (
	"testing"

	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// testRuntime is ONNX Runtime for the tests of this package.
func testRuntime(t testing.TB) *ort.Runtime {
	t.Helper()
	return orttest.Open(t, 0)
}
