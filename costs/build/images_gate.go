package build

import "sync"

// pixelGate bounds the pixels that several goroutines decode at a time, since
// decoders need a few bytes for each. An image that is larger than the bound
// passes when no other is inside.
type pixelGate struct {
	mu     sync.Mutex
	left   sync.Cond
	most   int
	inside int
}

func newPixelGate(most int) *pixelGate {
	g := &pixelGate{most: most}
	g.left.L = &g.mu
	return g
}

// enter waits until there is room for so many pixels; leave makes it again.
func (g *pixelGate) enter(pixels int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.inside > 0 && g.inside+pixels > g.most {
		g.left.Wait()
	}
	g.inside += pixels
}

func (g *pixelGate) leave(pixels int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= pixels
	g.left.Broadcast()
}
