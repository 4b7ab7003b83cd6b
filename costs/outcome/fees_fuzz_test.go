package outcome

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// FuzzFees: a file of fees is an error about data that names the file, or gives every expert and every advice a fee that a cost
// tensor takes.
func FuzzFees(f *testing.F) {
	for _, text := range []string{
		`{"experts": {"a": 0.5, "b": 1}, "advice": {"none": 0, "search": 2e-3}}`, `{"experts": {"a": null}}`, `{"experts": {"a": -1, "b": 1e300}, "advice": {"search": 1}}`,
		`{"experts": {"a": 1, "a": 2}}`, "[]", "null", "{",
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "fees.json")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		m := &importer{config: &Config{Fees: FeeTable{File: storage.File(path)}}}
		a := &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: noAdvice}, {Name: "search"}}}
		err := m.setFees(t.Context(), a)
		if err == nil {
			err = a.Validate()
		}
		var bad *costs.DataError
		if err = asData(path, err); err != nil && (!errors.As(err, &bad) || !strings.Contains(err.Error(), path)) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		again, err := costs.ParseActions(a.JSON())
		if err != nil || again.Experts[0].Fee != a.Experts[0].Fee || again.Advice[1].Fee != a.Advice[1].Fee {
			t.Fatalf("%s: %v", a.JSON(), err)
		}
	})
}
