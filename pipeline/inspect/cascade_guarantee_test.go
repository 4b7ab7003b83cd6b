package inspect

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade/cascadetest"
)

// The guarantee of a cascade is explained in numbers and in words.
func TestGuaranteeOfCascade(t *testing.T) {
	m, err := cascadetest.Looks(coststest.Looks(10, 1), 1).Export()
	if err == nil {
		m, err = cascadetest.Guarded(m, 0.25)
	}
	path := filepath.Join(t.TempDir(), "cascade.onnx")
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := explainModel(t.Context(), storage.File(path), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"an accepted decision has an expected loss of at most 0.2", "accepted if its expected loss is at most 0.25", "for abstain, at a fee of 0.3"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if b, err := json.Marshal(e); err != nil || !strings.Contains(string(b), `"guarantee":{"risk":0.2`) || strings.Contains(string(b), `"risk":"`) {
		t.Errorf("%s %v", b, err)
	}
}
