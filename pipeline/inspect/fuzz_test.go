package inspect

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade/cascadetest"
	"pipe/onnx"
	"pipe/pipeline/decide/decidetest"
)

// FuzzInspectPolicy: a policy, a trained expert or an encoder with any metadata gives an error about data or is
// explained, as text and as JSON.
func FuzzInspectPolicy(f *testing.F) {
	p := decidetest.Policy(3, 4)
	p.Info = map[string]string{"guard": `{"rows": 3, "gain": 0.5, "confidence": 0.95, "sets": 2}`, "settings": `{"seed": 1}`}
	m, err := p.Export()
	if err != nil {
		f.Fatal(err)
	}
	for key, value := range m.Metadata() {
		f.Add(key, value, "", "")
	}
	for _, pair := range [][4]string{
		{"pipe.lambda", "1e308"},
		{"pipe.lambda", "1e6"},
		{"pipe.kind", "expert"},
		{"pipe.kind", "encoder"},
		{"pipe.kind", "expert", "pipe.labels", `["a", null]`},
		{"pipe.note", `{"a":{"a":[1e400]}}`},
		{"pipe.note", `{"a":1,"a":2}`},
		{"pipe.encoder.format", "1", "pipe.encoder.info", `{"input":"text","dim":3,"max_length":1}`},
	} {
		f.Add(pair[0], pair[1], pair[2], pair[3])
	}
	fuzzMetadata(f, m)
}

// FuzzInspectCascade is the same for cascades.
func FuzzInspectCascade(f *testing.F) {
	m, err := cascadetest.Looks(coststest.Looks(4, 1), 1).Export()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("pipe.validation", `{"rows": 3}`, "pipe.guard", `{"rows": 3, "stages": []}`)
	f.Add("pipe.validation", `{"rows": 3, "stages": [0.5, 0.5], "first": [{"pair": "a"}, {}]}`, "pipe.stages", "4")
	f.Add("pipe.validation", `[]`, "pipe.stages", "2147483647")
	f.Add("pipe.guard", `null`, "pipe.facts", `null`)
	fuzzMetadata(f, m)
}

// fuzzMetadata explains a model with two entries of its metadata changed.
func fuzzMetadata(f *testing.F, m *onnx.Model) {
	good, path := m.Metadata(), filepath.Join(f.TempDir(), "model.onnx")
	f.Fuzz(func(t *testing.T, key, value, key2, value2 string) {
		meta := maps.Clone(good)
		meta[key] = value
		if key2 != "" {
			meta[key2] = value2
		}
		m.SetMetadata(meta)
		if b, err := m.Marshal(); err != nil {
			return // text that is not UTF-8 cannot be written
		} else if _, err := onnx.Parse(b); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		explainedOrBad(t, path)
	})
}

// explainedOrBad requires an explanation that can be displayed, or an error about data that names the file.
func explainedOrBad(t *testing.T, path string) {
	t.Helper()
	e, err := File(t.Context(), storage.File(path), DefaultOptions())
	var bad *costs.DataError
	switch {
	case err == nil:
		if err := e.WriteText(io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	case !errors.As(err, &bad) || !strings.Contains(err.Error(), path):
		t.Fatalf("%v is not an error about %s", err, path)
	}
}

// FuzzInspect: a file of any kind gives an error about data that names it, or is explained, as text and as JSON.
func FuzzInspect(f *testing.F) {
	p, err := decidetest.Policy(3, 4).Export()
	if err != nil {
		f.Fatal(err)
	}
	b, err := p.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("PIPECKPT\x01"))
	f.Add([]byte("PAR1"))
	f.Add([]byte(`{"format":1,"labels":["0","1"],"groups":[{"name":"a"}],"columns":[{"name":"x","group":0,"kind":"number","std":1}],"rows":1}`))
	f.Add([]byte{})
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		explainedOrBad(t, path)
	})
}
