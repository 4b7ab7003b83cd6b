package onnx_test

import (
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
)

// Selecting outputs of a model does not change the original.
func TestWithOutputs(t *testing.T) {
	m := onnxtest.Head(t, onnx.Sym("rows"), 17)
	one, err := m.WithOutputs("mean")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Check(); err != nil {
		t.Fatal(err)
	}
	one.SetMetadata(nil)
	if len(one.Outputs()) != 1 || one.Outputs()[0].Name != "mean" || len(m.Outputs()) != 2 || len(m.Metadata()) != 2 {
		t.Errorf("outputs %v of %v, metadata %v", one.Outputs(), m.Outputs(), m.Metadata())
	}
	if _, err := m.WithOutputs("median"); err == nil || !strings.Contains(err.Error(), `no output "median", it has ["mean" "z"]`) {
		t.Error(err)
	}
}
