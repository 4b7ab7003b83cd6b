package pixel

import "sync"

// Gate limits the pixels that several goroutines decode concurrently, since
// decoders need a few bytes per pixel. An image that is larger than the limit
// passes when no other is inside.
type Gate struct {
	mu     sync.Mutex
	left   sync.Cond
	most   int
	inside int
}

// MostAtOnce is the largest number of pixels that programs decode concurrently,
// except for a single larger image. It limits memory, at a few bytes per pixel.
const MostAtOnce = 32 << 20

// NewGate makes a gate for at most that many pixels at a time.
func NewGate(most int) *Gate {
	g := &Gate{most: most}
	g.left.L = &g.mu
	return g
}

// Enter waits until there is room for this many pixels; Leave frees it.
func (g *Gate) Enter(pixels int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.inside > 0 && g.inside+pixels > g.most {
		g.left.Wait()
	}
	g.inside += pixels
}

// Leave must be called once for every Enter, with the same number.
func (g *Gate) Leave(pixels int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= pixels
	g.left.Broadcast()
}
