package ort_test

import (
	"context"
	"os"
	"testing"

	"pipe/onnx"
	"pipe/onnx/internal/conform"
	"pipe/onnx/ort"
)

// TestGradients checks every derivative rule in the runtime that trains.
func TestGradients(t *testing.T) {
	library, _, err := ort.Locate("")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no ONNX Runtime: ", err)
	}
	cfg := ort.DefaultConfig()
	cfg.Library = library
	rt, err := ort.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, c := range conform.Cases() {
		t.Run(c.Name, func(t *testing.T) { conform.CheckGradients(t, c, runner(t, rt)) })
	}
}

// runner keeps one session per model, since a check runs the same model often.
func runner(t *testing.T, rt *ort.Runtime) conform.Run {
	sessions := map[*onnx.Model]*ort.Session{}
	t.Cleanup(func() {
		for _, s := range sessions {
			s.Close()
		}
	})
	return func(m *onnx.Model, in map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error) {
		s := sessions[m]
		if s == nil {
			b, err := m.Marshal()
			if err != nil {
				return nil, err
			}
			o := ort.DefaultSessionOptions()
			o.Threads = 1
			if s, err = rt.Session(b, o); err != nil {
				return nil, err
			}
			sessions[m] = s
		}
		return s.Run(context.Background(), in)
	}
}
