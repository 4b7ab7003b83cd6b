package prices

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipe/internal/config"
	"pipe/internal/digest"
	"pipe/internal/storage"
)

const example = `
currency: USD
models:
  small:
    - {from: 2026-03-01T12:00:00+02:00, in: 0.1, out: 0.4}
    - {in: 0.15, cached: 0.075, out: 0.6, call: 0.002}
  large:
    - {from: 2026-01-01, in: 5, out: 15}
`

func read(t testing.TB, name, text string) (*Table, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Read(t.Context(), storage.File(path))
}

func micros(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

// The last period that has begun counts, and the first instant of a period is its own.
func TestPeriods(t *testing.T) {
	table, err := read(t, "p.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]float64{
		"1970-01-01T00:00:00Z": 0.15, "2026-03-01T09:59:59Z": 0.15, "2026-03-01T10:00:00Z": 0.1, "2030-01-01T00:00:00Z": 0.1,
	} {
		p, err := table.At("small", micros(t, at))
		if err != nil || *p.In != want {
			t.Errorf("%s: %v, %v", at, p, err)
		}
	}
	if p, err := table.At("large", micros(t, "2026-01-01T00:00:00Z")); err != nil || *p.Out != 15 {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := table.At("large", micros(t, "2025-12-31T23:59:59Z")); err == nil || !strings.Contains(err.Error(), "is before 2026-01-01") {
		t.Error(err)
	}
	if _, err := table.At("medium", 0); err == nil || !strings.Contains(err.Error(), "has large, small") {
		t.Error(err)
	}
	if table.Dated("other") || !table.Dated("large") || !table.Dated("small") {
		t.Error("large and small have dates")
	}
}

// The cost is the sum in exact arithmetic, up to rounding: cached tokens are part of the input tokens.
func TestCost(t *testing.T) {
	price := func(v float64) *float64 { return &v }
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.IntRange(0, 1<<20)
		in, out, call := number.Draw(rt, "in"), number.Draw(rt, "out"), number.Draw(rt, "call")
		cached := rapid.IntRange(0, in).Draw(rt, "cached")
		a, b, c := number.Draw(rt, "a"), number.Draw(rt, "b"), number.Draw(rt, "c")
		p := Period{In: price(float64(a)), Cached: price(float64(b)), Out: price(float64(c)), Call: price(float64(call))}
		got, err := p.Cost(Usage{In: float64(in), Cached: float64(cached), Out: float64(out)})
		want := float64((in-cached)*a+cached*b+out*c)/1e6 + float64(call)
		if err != nil || got < want*(1-1e-12) || got > want*(1+1e-12) {
			rt.Fatalf("%v, want %v (%v)", got, want, err)
		}
	})
	for key, u := range map[string]Usage{"in": {In: 1}, "cached": {In: 2, Cached: 3}, "out": {Out: 1}} {
		_, err := Period{Call: price(1)}.Cost(u)
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	if money, err := (Period{In: price(2)}).Cost(Usage{In: 5e5}); err != nil || money != 1 {
		t.Error(money, err)
	}
}

// sum is the digest of a table's JSON form, as tensors record it.
func sum(t *testing.T, table *Table) string {
	t.Helper()
	d, err := digest.JSON(table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The digest depends on the prices alone: not on the order, the form of the file, or other models.
func TestDigest(t *testing.T) {
	table, err := read(t, "p.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(table.Of([]string{"small", "absent"}))
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(t, "p.json", string(b))
	if err != nil || sum(t, again) != sum(t, table.Of([]string{"small"})) || sum(t, again) == sum(t, table) {
		t.Errorf("%s: %v", b, err)
	}
}

// The names of chat services say the same.
func TestTwoNames(t *testing.T) {
	want, err := read(t, "p.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, "p.yaml", strings.NewReplacer("in:", "prompt:", "out:", "completion:").Replace(example))
	if err != nil || sum(t, got) != sum(t, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "the file is empty",
		"models: {a: [{in: 1}]}":                 `currency is ""`,
		"currency: USD":                          "models is empty",
		"currency: USD\nmodels: {a: []}":         "models.a has no prices",
		"currency: USD\nmodels: {a: [{in: -1}]}": "models.a[0].in is -1",
		"currency: USD\nmodels: {a: [{in: 1e300}]}":                               "a price must be 0 to",
		"currency: USD\nmodels: {a: [{in: .nan}]}":                                "models.a[0].in is NaN",
		"currency: USD\nmodels: {a: [{in: 1}]}\ncapabilities: {b: {tools: true}}": "capabilities.b is of a model without prices",
		"currency: USD\nmodels: {a: [{in: 1}]}\ncapabilities: {a: {context: 0}}":  "capabilities.a.context must be",
		"currency: USD\nmodels: {a: [{}]}":                                        "all missing",
		"currency: USD\nmodels: {a: [{cached: 1}]}":                               "cached is set, but in is not",
		"currency: USD\nmodels: {a: [{from: May, in: 1}]}":                        `from is "May"`,
		"currency: USD\nmodels: {a: [{in: 1}, {in: 2}]}":                          "begins when another period",
		"currency: USD\nmodels: {a: [{in: cheap}]}":                               "line 2: models.a[0].in",
		"currency: USD\nmodels: {a: [{input: 1}]}":                                `unknown key "input"; known are above, audio, audio_out, batch, cache_ttl, cache_write, cache_write_1h, cached, call, completion, from, hours, image, in, out, prompt, reasoning`,
		"currency: USD\nmodels: {a: {in: 1}}":                                     "expected a list",
		"currency: USD\nmodels: {a: [{in: 1, completion: 2}]}":                    "has either in and out, or prompt and completion",
		"currency: USD\nmodels: {a: [{in: 1, prompt: 1}]}":                        "other names of in and out",
		"currency: USD\nmodels: {a: [{prompt: -1}]}":                              "models.a[0].in is -1",
		"currency: USD\nmodels: {a: [{prompt: cheap}]}":                           "line 2: models.a[0].prompt",
		"currency: [USD]\nmodels: {a: [{in: 1}]}":                                 "line 1: currency",
		`{"currency": "USD", "models": {"a": [], "a": []}}`:                       "already defined",
		"currency: \"US\\nD\"\nmodels: {a: [{from: x, in: 1}]}":                   `currency is "US\nD"`,
	} {
		_, err := read(t, "p.yaml", text)
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzTable: a price file is an error about a configuration that names the file, or a table whose costs are numbers.
func FuzzTable(f *testing.F) {
	f.Add([]byte(example), "small", int64(1e15))
	f.Add([]byte(`{"currency": "EUR", "models": {"a": [{"in": 1, "from": "2026-01-01"}]}}`), "a", int64(0))
	f.Add([]byte("currency: &x USD\nmodels: {a: [{in: 1e12, call: 0}], b: *x}"), "b", int64(-1))
	path := filepath.Join(f.TempDir(), "p.yaml")
	f.Fuzz(func(t *testing.T, b []byte, model string, at int64) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		table, err := Read(t.Context(), storage.File(path))
		if err != nil {
			var bad *config.Error
			if !errors.As(err, &bad) || bad.File != path {
				t.Fatal(err)
			}
			return
		}
		p, err := table.At(model, at)
		if err != nil {
			return
		}
		if money, err := p.Cost(Usage{In: 2e6, Cached: 1e6, Out: 1e6}); err == nil && !(money >= 0 && money <= 4*mostMoney) {
			t.Fatalf("%v costs %v", p, money)
		}
		text, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(t.Context(), storage.File(path)); err != nil || sum(t, again) != sum(t, table) {
			t.Fatalf("%s is not read back: %v", text, err)
		}
	})
}
