package featurize_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/featurize"
	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
)

// The input of an encoder follows from its towers, else from the metadata of its file, else from the axes of its
// inputs.
func TestEncoderInputs(t *testing.T) {
	clip, dir := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), t.TempDir()
	m, err := featurize.ReadImageModel(clip, featurize.DefaultImageModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := m.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	served := &onnx.Model{Proto: m.Graph.Proto}
	write := func(name string, m *onnx.Model) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), m.WriteFile(path)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("network/onnx/model.onnx", served)
	for name, want := range map[string][]string{
		hftest.Folder(t):               {featurize.InputText},
		clip:                           {featurize.InputImage, featurize.InputText},
		write("encoder.onnx", encoder): {featurize.InputImage},
		write("bare.onnx", served):     {featurize.InputImage},
		filepath.Join(dir, "network"):  {featurize.InputImage},
		t.TempDir():                    {featurize.InputText},
	} {
		if got, err := featurize.EncoderInputs(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s reads %v (%v), want %v", name, got, err, want)
		}
	}
	for _, c := range []struct {
		shape onnx.Shape
		want  string
	}{
		{nil, ""},
		{onnx.Shape{onnx.Sym("n"), onnx.Fix(3), onnx.Fix(8), onnx.Fix(8)}, ""},
		{onnx.Shape{onnx.Sym("n"), onnx.Fix(3)}, "the graph has inputs x (float32 [n 3]); they are neither texts (input_ids) nor images (four axes)"},
	} {
		g := onnx.NewGraph("bare")
		g.Output("y", g.Relu(g.Input("x", onnx.Float32, c.shape)))
		m, err := g.Build(onnx.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c.shape == nil {
			m.Proto.Graph.Input[0].Type.GetTensorType().Shape = nil
		}
		got, err := featurize.EncoderInputs(write("axes.onnx", m))
		switch {
		case c.want == "" && (err != nil || !slices.Equal(got, []string{featurize.InputImage})):
			t.Errorf("axes %v: %v, %v", c.shape, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("axes %v: %v", c.shape, err)
		}
	}
	served.SetMetadata(map[string]string{"pipe.kind": "policy"})
	_, err = featurize.EncoderInputs(write("policy.onnx", served))
	var data *dataerror.Error
	if !errors.As(err, &data) || !strings.Contains(err.Error(), "is a policy, not an encoder") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "page.onnx"), []byte("<html>"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err = featurize.EncoderInputs(filepath.Join(dir, "page.onnx")); !errors.As(err, &data) {
		t.Error(err)
	}
	if _, err = featurize.EncoderInputs(filepath.Join(dir, "absent.onnx")); err == nil {
		t.Error("a file that is not there reads something")
	}
}
