package onnx_test

import (
	"testing"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/rewrite"
)

// FuzzParse reads arbitrary bytes as a model: reading, checking, listing, merging and writing never panic, and a model
// that passes the check can be read back after writing.
func FuzzParse(f *testing.F) {
	for _, m := range []*onnx.Model{onnxtest.Affine(f), onnxtest.Head(f, onnx.Sym("n"), 18)} {
		b, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	second := onnxtest.Head(f, onnx.Sym("n"), 17)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := onnx.Parse(b)
		if err != nil {
			return
		}
		sound := m.Check() == nil
		m.Metadata()
		connect := map[string]string{}
		for _, o := range append(m.Outputs(), m.Inputs()...) {
			connect[o.Name] = "x"
			break
		}
		if c, err := rewrite.Merge(m, second, connect, rewrite.MergeOptions{Name: "merged", FirstPrefix: "first/", SecondPrefix: "second/"}); err == nil && c.Check() != nil {
			t.Fatal("a merged model does not pass the check")
		}
		if _, err := rewrite.ToFloat16(m); !sound && err == nil {
			t.Fatal("a model that is not sound has one in float16")
		}
		w, err := m.Marshal()
		if !sound || err != nil {
			return
		}
		back, err := onnx.Parse(w)
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
