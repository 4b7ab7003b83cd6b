package expert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/costs/prices"
	"pipe/internal/config"
	"pipe/serve/gateway/gatewaytest"
)

func TestBreaker(t *testing.T) {
	f := gatewaytest.New(t)
	broken := true
	f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if broken {
			w.WriteHeader(503)
		}
		return broken
	}
	var states []State
	s := settings(f.Base())
	e, err := New("small", s, BreakerSettings{Failures: 3, Open: 100 * time.Millisecond, Probes: 1}, func(_ string, to State) { states = append(states, to) })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	call := func() string {
		_, err := e.Call(t.Context(), request(t, ""), nil, nil)
		var fault *Failure
		errors.As(err, &fault)
		if fault == nil {
			return fmt.Sprint(err)
		}
		return fault.Label()
	}
	for i, want := range []string{"status_503", "status_503", "status_503", "open", "open"} {
		if got := call(); got != want {
			t.Fatalf("call %d: %s, want %s", i, got, want)
		}
	}
	time.Sleep(120 * time.Millisecond)
	if got := call(); got != "status_503" || e.State() != Open {
		t.Fatalf("the probe: %s, %v", got, e.State())
	}
	broken = false
	time.Sleep(120 * time.Millisecond)
	if got := call(); got != "<nil>" || e.State() != Closed {
		t.Fatalf("the probe: %s, %v", got, e.State())
	}
	if got := fmt.Sprint(states); got != "[open half open open half open closed]" {
		t.Errorf("states %s", got)
	}
	if len(f.Requests()) != 5 {
		t.Errorf("%d requests", len(f.Requests()))
	}
}

// A caller who leaves ends the call, and that says nothing about the expert.
func TestCallersWhoLeave(t *testing.T) {
	f := gatewaytest.New(t)
	f.Delay = 50 * time.Millisecond
	f.Text = strings.Repeat("word ", 100)
	e := open(t, settings(f.Base()), BreakerSettings{Failures: 1, Open: time.Minute, Probes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	a, err := e.Call(ctx, request(t, `,"stream":true`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = readStream(a.Stream)
	a.Stream.Close()
	if !errors.Is(err, context.Canceled) || e.State() != Closed {
		t.Errorf("got %v, %v", err, e.State())
	}
	for begin := time.Now(); f.Gone() == 0 && time.Since(begin) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
	}
	if f.Gone() != 1 {
		t.Error("the service was not told")
	}
	if _, err := e.Call(ctx, request(t, ""), nil, nil); !errors.Is(err, context.Canceled) || e.State() != Closed {
		t.Errorf("got %v, %v", err, e.State())
	}
}

func TestConcurrency(t *testing.T) {
	f := gatewaytest.New(t)
	release := make(chan struct{})
	f.Fault = func(int, http.ResponseWriter, *http.Request) bool { <-release; return false }
	s := settings(f.Base())
	s.Concurrency, s.Timeouts.Answer = 1, 5*time.Second
	e := open(t, s, DefaultBreaker())
	done := make(chan error)
	go func() { _, err := e.Call(t.Context(), request(t, ""), nil, nil); done <- err }()
	for begin := time.Now(); len(f.Requests()) == 0 && time.Since(begin) < 2*time.Second; time.Sleep(time.Millisecond) {
	}
	_, err := e.Call(t.Context(), request(t, ""), nil, nil)
	var fault *Failure
	if !errors.As(err, &fault) || fault.Reason != "busy" {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	text := "currency: USD\nmodels:\n  m: [{in: 1, out: 10}, {from: 2026-06-01, in: 2, out: 20, cached: 0.5}]\n  dear: [{in: 100, out: 100}]\n  long: [{in: 1, cached: 0.1, cache_write: 1.25, out: 10, above: [{tokens: 200000, in: 2, cached: 0.2, cache_write: 2.5, out: 20}]}]\n" +
		"  night: [{in: 4, out: 40, hours: [{from: '22:00', to: '06:00', in: 1, out: 10}]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := gatewaytest.New(t)
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	used := Usage{Tokens: prices.Tokens{In: 1_000_000, Out: 100_000}, Known: true}
	cached := Usage{Tokens: prices.Tokens{In: 1_000_000, Cached: 400_000}, Known: true}
	in, out := 1.0, 10.0
	half := 0.5
	byFile, byPrice, discount, none := settings(f.Base()), settings(f.Base()), settings(f.Base()), settings(f.Base())
	byFile.Prices, byPrice.Price, discount.Price = config.Path(file), &Price{In: &in, Out: &out}, &Price{In: &in, Cached: &half, Out: &out}
	byFile.Served, byPrice.Served = []string{"m-*"}, []string{"m-*"}
	for _, c := range []struct {
		s      Settings
		served string
		usage  Usage
		at     time.Time
		want   Fee
	}{
		{byFile, "m", used, early, Fee{Money: 2, Known: true}},
		{byFile, "m", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "m-2026", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "dear", used, late, Fee{Money: 110, Known: true, Other: true}},
		{byFile, "unknown", used, late, Fee{Other: true}},
		{byFile, "m", cached, late, Fee{Money: 1.4, Known: true, Since: "2026-06-01"}},
		{byFile, "m", cached, early, Fee{}}, // cached tokens have no price then
		{byFile, "m", Usage{}, late, Fee{}},
		{byFile, "m", Usage{Tokens: prices.Tokens{In: 1_000_000}, Parts: prices.Parts{Written: 1}, Known: true}, late, Fee{}}, // nor these
		{byFile, "long", Usage{Tokens: prices.Tokens{In: 200_000, Cached: 100_000, Out: 1000}, Parts: prices.Parts{Written: 100_000}, Known: true}, late, Fee{Money: 0.145, Known: true, Other: true}},
		{byFile, "long", Usage{Tokens: prices.Tokens{In: 400_000, Cached: 100_000, Out: 1000}, Parts: prices.Parts{Written: 100_000}, Known: true}, late, Fee{Money: 0.69, Known: true, Other: true}},
		{byFile, "night", used, late, Fee{Money: 2, Known: true, Other: true}},
		{byFile, "night", used, late.Add(6 * time.Hour), Fee{Money: 8, Known: true, Other: true}},
		{byPrice, "m-1", used, late, Fee{Money: 2, Known: true}},
		{byPrice, "m", cached, late, Fee{}}, // as in a price file
		{discount, "m", cached, late, Fee{Money: 0.8, Known: true}},
		{byPrice, "dear", used, late, Fee{Other: true}},
		{none, "m", used, late, Fee{}},
	} {
		if got := open(t, c.s, DefaultBreaker()).Fee(c.served, c.usage, c.at); math.Abs(got.Money-c.want.Money) > 1e-12 || got.Known != c.want.Known || got.Since != c.want.Since || got.Other != c.want.Other {
			t.Errorf("%q: %+v, want %+v", c.served, got, c.want)
		}
	}
}
