// Package orttest provides the ONNX Runtime to tests.
package orttest

import (
	"context"
	"os"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort"
)

// Open returns a runtime whose sessions use the given number of threads, 0 for all cores; it is closed when the test
// ends. If the library is absent, the test is skipped, or fails under CI=true.
func Open(t testing.TB, threads int) *ort.Runtime {
	t.Helper()
	cfg := ort.DefaultConfig()
	cfg.Threads = threads
	rt, err := ort.Open(cfg)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs ONNX Runtime: ", err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// OneThread is a configuration in which sums do not depend on the division of work. If the library is absent, the test
// is skipped or fails, as in Open.
func OneThread(t testing.TB) ort.Config {
	t.Helper()
	Open(t, 1)
	cfg := ort.DefaultConfig()
	cfg.Threads = 1
	return cfg
}

// Evaluate runs a model once, on one thread, and returns its outputs by name.
func Evaluate(t testing.TB, m *onnx.Model, in map[string]*onnx.Tensor) map[string]*onnx.Tensor {
	t.Helper()
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t, 1).Session(b, ort.DefaultSessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
