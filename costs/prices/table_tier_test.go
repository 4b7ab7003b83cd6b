package prices

import (
	"errors"
	"strings"
	"testing"

	"pipe/internal/config"
)

const tiered = `
currency: USD
models:
  long:
    - {in: 1.25, cached: 0.125, out: 10, call: 0.5, above: [{tokens: 272000, in: 5, cached: 0.5, out: 30}, {tokens: 200000, prompt: 2.5, cached: 0.25, completion: 15}]}
`

// A prompt above a number of tokens makes all tokens of the call dearer, and one with that number none. Cached tokens are part of
// the prompt.
func TestTiers(t *testing.T) {
	table, err := read(t, "p.yaml", tiered)
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&Recorded{Table: table}).Text()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := ParseRecorded(text)
	if err != nil || sum(t, recorded.Table) != sum(t, table) {
		t.Fatal(text, err)
	}
	again := recorded.Table
	for u, want := range map[Usage]float64{
		{In: 200_000, Cached: 0, Out: 1000}:       0.5 + 0.2*1.25 + 0.001*10,
		{In: 200_001, Cached: 0, Out: 1000}:       0.5 + 0.200001*2.5 + 0.001*15,
		{In: 250_000, Cached: 240_000, Out: 1000}: 0.5 + 0.01*2.5 + 0.24*0.25 + 0.001*15,
		{In: 272_000, Cached: 0, Out: 0}:          0.5 + 0.272*2.5,
		{In: 1_000_000, Cached: 0, Out: 1e6}:      0.5 + 5 + 30,
		{In: 1000, Cached: 0, Out: 300_000}:       0.5 + 0.001*1.25 + 0.3*10, // the answer is long, not the prompt
	} {
		for _, tb := range []*Table{table, again} {
			p, err := tb.At("long", 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Cost(u); err != nil || got < want*(1-1e-12) || got > want*(1+1e-12) {
				t.Errorf("%+v: %v, %v, expected %v", u, got, err, want)
			}
		}
	}
}

// The list of LiteLLM is one error that says what to write, and so are its keys in a price file.
func TestListOfLiteLLM(t *testing.T) {
	for name, text := range map[string]string{
		"p.json": `{"sample_spec": {"mode": "chat"}, "a": {"input_cost_per_token": 1e-06, "input_cost_per_token_above_200k_tokens": 2e-06}, "b": {"input_cost_per_token": 0}}`,
		"p.yaml": "currency: USD\nmodels: {a: [{in: 1, input_cost_per_token_above_200k_tokens: 2e-6}]}",
	} {
		_, err := read(t, name, text)
		var bad *config.Error
		if !errors.As(err, &bad) || len(bad.Problems) != 1 || !strings.Contains(err.Error(), "write the prices of a million tokens") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read(t, "p.yaml", "currency: USD\nmodels: {input_cost_per_token: [{in: 1}]}"); err != nil {
		t.Error("of a model of this name:", err)
	}
}

func TestBadTiers(t *testing.T) {
	for text, want := range map[string]string{
		"{in: 1, above: [{in: 2}]}":                                "models.a[0].above[0].tokens is 0; it must be the number of tokens",
		"{in: 1, above: [{tokens: .nan, in: 2}]}":                  "tokens is NaN",
		"{in: 1, above: [{tokens: 5, in: 2}, {tokens: 5, in: 3}]}": "above[1] begins at 5 tokens, as another one does",
		"{in: 1, out: 1, above: [{tokens: 5, in: 2}]}":             `above[0] has other prices than those below it: "out" must be in both`,
		"{in: 1, above: [{tokens: 5, in: 2, cached: 1}]}":          `"cached" must be in both`,
		"{in: 1, above: [{tokens: 5, in: -2}]}":                    "above[0].in must be 0 to",
		"{in: 1, above: [{tokens: 5, in: 2, prompt: 2}]}":          "other names of in and out",
		"{in: 1, above: [{tokens: 5, in: 2, call: 2}]}":            `unknown key "call"`,
		"{in: 1, above: {tokens: 5, in: 2}}":                       "expected a list",
	} {
		_, err := read(t, "p.yaml", "currency: USD\nmodels: {a: ["+text+"]}")
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
