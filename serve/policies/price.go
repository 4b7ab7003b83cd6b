package policies

import (
	"encoding/binary"
	"math"
	"sync"

	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// mostPrices is the most changes of prices that a policy remembers.
const mostPrices = 256

// priceCache remembers prices by their change, which is everything that they depend on besides the policy: lambda, fees and
// what is left out.
type priceCache struct {
	mu    sync.Mutex
	known map[string]*policy.Pricing
}

// get returns the prices after a change.
func (c *priceCache) get(change decide.PriceChange, r *decide.Router) (*policy.Pricing, error) {
	if change.IsZero() {
		return r.Pricing(), nil
	}
	var buffer [256]byte
	key := priceKey(buffer[:0], change)
	c.mu.Lock()
	p := c.known[string(key)]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := r.Price(change)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= mostPrices {
		c.known = map[string]*policy.Pricing{}
	}
	c.known[string(key)] = p
	return p, nil
}

// priceKey appends a text that is different for every change.
func priceKey(key []byte, c decide.PriceChange) []byte {
	if c.Lambda != nil {
		key = binary.LittleEndian.AppendUint64(append(key, 1), math.Float64bits(*c.Lambda))
	} else {
		key = append(key, 0)
	}
	for _, list := range [][]string{c.Fees, c.Pairs, c.Without} {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, s := range list {
			key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
		}
	}
	return key
}
