package service

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTokensPerMinuteAreHeld(t *testing.T) {
	a := newAccount(t.Logf)
	a.limit(0, 6000) // 100 a second
	begin := time.Now()
	for _, tokens := range []int{100, 30, 130} { // more than a burst is waited for in pieces
		if err := a.Wait(t.Context(), tokens); err != nil {
			t.Fatal(err)
		}
	}
	a.Owe(20)
	if err := a.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 1800*time.Millisecond || took > 2500*time.Millisecond {
		t.Errorf("281 tokens, of which 100 at once, at 98.3 per second took %v", took)
	}
}

// No minute has more than its tokens, whenever it begins.
func TestNoMinuteHasMoreTokens(t *testing.T) {
	for _, perMinute := range []float64{60, 1000, 90_000} {
		a := newAccount(t.Logf)
		a.limit(0, perMinute)
		if most := float64(a.tokens.Burst()) + 60*float64(a.tokens.Limit()); most > perMinute+1e-6 {
			t.Errorf("%v tokens in a minute of %v", most, perMinute)
		}
	}
}

// Whoever is asked for patience makes everybody on the account wait.
func TestSilenceIsForEverybody(t *testing.T) {
	a := newAccount(t.Logf)
	begin := time.Now()
	go func() { _ = a.rest(t.Context(), time.Millisecond, 400*time.Millisecond) }()
	time.Sleep(50 * time.Millisecond)
	if err := a.Wait(t.Context(), 1); err != nil || time.Since(begin) < 400*time.Millisecond {
		t.Errorf("waited %v, %v", time.Since(begin), err)
	}
	a.resume = time.Now().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := a.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
