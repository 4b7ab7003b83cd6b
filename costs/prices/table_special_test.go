package prices

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
)

const special = `
currency: USD
models:
  all:
    - in: 3
      cached: 0.3
      cache_write: 3.75
      cache_write_1h: 6
      cache_ttl: 1h
      out: 15
      batch: 0.5
      call: 0.01
      above: [{tokens: 200000, in: 6, cached: 0.6, cache_write: 7.5, cache_write_1h: 12, out: 22.5}]
  media: [{in: 2.5, cached: 1.25, out: 10, image: 5, audio: 40, audio_out: 80, reasoning: 12}]
  plain: [{in: 2, out: 8}]
`

// Tokens of special kinds have their own prices, also above a number of tokens, where those that a cache had and got count.
func TestSpecialPrices(t *testing.T) {
	table, err := read(t, "p.yaml", special)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		u     Usage
		want  float64
	}{
		{"all", Usage{In: 1000, Cached: 400, Out: 50, Parts: Parts{Written: 300, WrittenHour: 100}}, (200*3+400*0.3+300*3.75+100*6+50*15)/1e6 + 0.01},
		{"all", Usage{In: 1000, Cached: 400, Out: 50, Batch: true}, (600*3+400*0.3+50*15)/2e6 + 0.01},
		{"all", Usage{In: 200_000, Cached: 150_000, Out: 50, Parts: Parts{Written: 50_000}}, (150_000*0.3+50_000*3.75+50*15)/1e6 + 0.01},
		{"all", Usage{In: 200_001, Cached: 150_000, Out: 50, Parts: Parts{Written: 50_001}}, (150_000*0.6+50_001*7.5+50*22.5)/1e6 + 0.01},
		{"media", Usage{In: 1000, Out: 100, Parts: Parts{Image: 200, Audio: 300, Reasoning: 60, AudioOut: 10}}, (500*2.5 + 200*5 + 300*40 + 30*10 + 60*12 + 10*80) / 1e6},
		{"plain", Usage{In: 1000, Out: 100, Parts: Parts{Image: 200, Reasoning: 60}}, (1000*2 + 100*8) / 1e6}, // what these cost where nothing else is said
	} {
		p, err := table.At(c.model, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Cost(c.u); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s %+v: %v, %v; expected %v", c.model, c.u, got, err, c.want)
		}
	}
	for key, c := range map[string]struct {
		model string
		u     Usage
	}{
		"cache_write":    {"plain", Usage{In: 10, Parts: Parts{Written: 5}}},
		"cache_write_1h": {"plain", Usage{In: 10, Parts: Parts{WrittenHour: 5}}},
		"audio":          {"plain", Usage{In: 10, Parts: Parts{Audio: 5}}},
		"audio_out":      {"plain", Usage{In: 10, Out: 5, Parts: Parts{AudioOut: 5}}},
		"batch":          {"plain", Usage{In: 10, Batch: true}},
		"cached":         {"media", Usage{In: 10, Cached: 5, Parts: Parts{Audio: 5}}}, // which were cached?
		"in":             {"media", Usage{In: 10, Parts: Parts{Audio: 11}}},
		"out":            {"media", Usage{In: 10, Out: 1, Parts: Parts{Reasoning: 2}}},
	} {
		p, err := table.At(c.model, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Cost(c.u)
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	all, _ := table.At("all", 0)
	plain, _ := table.At("plain", 0)
	if all.CacheLife() != time.Hour || plain.CacheLife() != 0 {
		t.Error(all.CacheLife(), plain.CacheLife())
	}
	text, err := (&Recorded{Table: table}).Text()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseRecorded(text); err != nil || sum(t, again.Table) != sum(t, table) {
		t.Error(text, err)
	}
}

const hourly = `
currency: USD
models:
  night: [{in: 1, out: 4, hours: [{from: "16:30", to: "00:30", prompt: 0.5, completion: 2}, {from: 12:00, to: "12:01", in: 9, out: 9}]}]
`

// The prices of the hour hold from its first minute to the one before its last, also over midnight, before 1970 too.
func TestHours(t *testing.T) {
	table, err := read(t, "p.yaml", hourly)
	if err != nil {
		t.Fatal(err)
	}
	if !table.Dated("night") {
		t.Error("the price does not depend on time")
	}
	for at, want := range map[string]float64{
		"2026-03-01T16:29:59Z": 1, "2026-03-01T16:30:00Z": 0.5, "2026-03-01T23:59:59Z": 0.5, "2026-03-02T00:00:00Z": 0.5, "2026-03-02T00:29:59Z": 0.5,
		"2026-03-02T00:30:00Z": 1, "2026-03-02T12:00:59Z": 9, "2026-03-02T12:01:00Z": 1, "1969-12-31T17:00:00Z": 0.5, "1969-12-31T16:29:59Z": 1,
		"2026-03-01T17:30:00+01:00": 0.5,
	} {
		p, err := table.At("night", micros(t, at))
		if err != nil || *p.In != want || p.Hours != nil {
			t.Errorf("%s: %+v, %v", at, p, err)
		}
	}
	r := Recorded{Table: table}
	if rates, ok := r.Rates("night"); !ok || rates.In != 1 {
		t.Error("the last prices are those outside the hours:", rates)
	}
}

func TestBadSpecialPrices(t *testing.T) {
	for text, want := range map[string]string{
		"{in: 1, cache_write: -1}":                                       "models.a[0].cache_write is -1",
		"{in: 1, reasoning: 1}":                                          "reasoning is set, but out is not",
		"{out: 1, audio: 1}":                                             "audio is set, but in is not",
		"{in: 1, batch: 2}":                                              "batch is 2; it must be the part",
		"{in: 1, cache_ttl: soon}":                                       `cache_ttl is "soon"`,
		"{in: 1, cache_ttl: -5m}":                                        `cache_ttl is "-5m"`,
		"{in: 1, image: 2, above: [{tokens: 5, in: 2}]}":                 `above[0] has other prices than those below it: "image" must be in both`,
		"{in: 1, hours: [{from: '16:30', to: '25:00', in: 1}]}":          `hours[0].to is "25:00"; it must be a time of the day`,
		"{in: 1, hours: [{to: '00:30', in: 1}]}":                         `hours[0].from is ""`,
		"{in: 1, hours: [{from: '01:00', to: '01:00', in: 1}]}":          "begins when it ends",
		"{in: 1, out: 1, hours: [{from: '01:00', to: '02:00', in: 1}]}":  `hours[0] has other prices than those below it: "out"`,
		"{in: 1, hours: [{from: '01:00', to: '02:00', in: 1, call: 3}]}": `unknown key "call"`,
		"{in: 1, hours: [{from: '22:00', to: '02:00', in: 1}, {from: '01:59', to: '03:00', in: 2}]}": "hours[1] holds at a time at which others hold",
		"{in: 1, above: [{tokens: 5, in: 2}], hours: [{from: '01:00', to: '02:00', in: 1}]}":         "hours and above are both set",
	} {
		_, err := read(t, "p.yaml", "currency: USD\nmodels: {a: ["+text+"]}")
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
