package pixel

import "sync"

// Gate bounds the pixels that several goroutines decode at a time, since
// decoders need a few bytes for each. An image that is larger than the bound
// passes when no other is inside.
type Gate struct {
	mu     sync.Mutex
	left   sync.Cond
	most   int
	inside int
}

// MostAtOnce is how many pixels programs decode at a time at most, or one
// image: its few bytes for each are what a machine has.
const MostAtOnce = 32 << 20

// NewGate makes a gate that lets in most pixels at a time.
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

// Leave is called once for every Enter, with the same number.
func (g *Gate) Leave(pixels int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= pixels
	g.left.Broadcast()
}
