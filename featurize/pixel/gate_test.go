package pixel

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestGate lets a large image in alone, and small ones together.
func TestGate(t *testing.T) {
	g := NewGate(10)
	var wg sync.WaitGroup
	var inside, most atomic.Int64
	for i := range 40 {
		pixels := 1 + i%7
		if i%10 == 0 {
			pixels = 25
		}
		wg.Go(func() {
			g.Enter(pixels)
			defer g.Leave(pixels)
			if now := inside.Add(int64(pixels)); now > 10 && now != 25 {
				t.Errorf("%d pixels inside", now)
			} else if now > most.Load() {
				most.Store(now)
			}
			time.Sleep(time.Millisecond)
			inside.Add(int64(-pixels))
		})
	}
	wg.Wait()
	if most.Load() != 25 {
		t.Errorf("at most %d pixels inside", most.Load())
	}
}
