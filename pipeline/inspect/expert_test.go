package inspect

import (
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/onnx"
)

// The file of a trained expert is explained by its own metadata.
func TestInspectExpert(t *testing.T) {
	g := onnx.NewGraph("expert")
	x := g.Input("rows", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(3)})
	g.Output("probability", g.Neg(x))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{
		"pipe.kind": "expert", "pipe.expert": "mlp", "pipe.labels": `["no","yes"]`, "pipe.settings": `{"epochs":3}`,
		"pipe.training_rows": "20", "pipe.fold": "1 of 2", "pipe.training": "sha256:00",
	}
	m.SetMetadata(about)
	path := filepath.Join(t.TempDir(), "mlp-fold1.onnx")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	e, err := File(t.Context(), storage.File(path), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := e.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"trained expert", "20 training rows: all but fold 1 of 2", "no, yes", "settings.epochs = 3", "rows float32"} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("%q is missing in %s", says, b.String())
		}
	}
	m.SetMetadata(map[string]string{"pipe.kind": "expert", "pipe.labels": "no"})
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := File(t.Context(), storage.File(path), DefaultOptions()); err == nil {
		t.Error("labels that are not a list were accepted")
	}
}
