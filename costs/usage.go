package costs

import "fmt"

// Quantity is something that the calls of a pair use and that may have a price.
type Quantity int

// The quantities. Each is an optional column of a tensor, with a value per pair.
const (
	TokensIn     Quantity = iota // tokens of the prompts, those that a cache had included
	TokensCached                 // of these, tokens that the service had kept from earlier calls
	TokensOut                    // tokens of the answers
	Calls
	Seconds

	Quantities // how many there are
)

var quantityNames = [Quantities]string{TokensIn: "tokens_in", TokensCached: "tokens_cached", TokensOut: "tokens_out", Calls: "calls", Seconds: "seconds"}

// String returns the name of the column.
func (q Quantity) String() string { return quantityNames[q] }

// Usage has what the calls of every pair used, by quantity: N x A values of at least 0, NaN where it is not known. A
// quantity that is known of no pair is nil.
type Usage [Quantities][]float32

// Known reports whether some quantity is known of some pair.
func (u *Usage) Known() bool {
	for _, values := range u {
		if values != nil {
			return true
		}
	}
	return false
}

// UsageFlags say which quantities a file has.
type UsageFlags [Quantities]bool

func (u *Usage) flags() (f UsageFlags) {
	for q, values := range u {
		f[q] = values != nil
	}
	return f
}

// each applies f to the values of every quantity.
func (u *Usage) each(f func(values []float32) []float32) (out Usage) {
	for q, values := range u {
		out[q] = f(values)
	}
	return out
}

// checkUsage returns a *DataError whose row counts within values, those of quantity q.
func checkUsage(q Quantity, values []float32, pairs int) error {
	for i, v := range values {
		if v < 0 || v-v != 0 && v == v {
			return cellError(q.String(), i, pairs, fmt.Sprintf("is %v; what a call uses must be finite and not negative, or null where it is not known", v))
		}
	}
	return nil
}

// checkCached refuses more cached tokens than there are in the prompts.
func (u *Usage) checkCached(pairs int) error {
	for i, cached := range u[TokensCached] {
		if u[TokensIn] != nil && cached > u[TokensIn][i] {
			return cellError(TokensCached.String(), i, pairs, fmt.Sprintf("is %v, more than the %v tokens of the prompts that they are part of", cached, u[TokensIn][i]))
		}
	}
	return nil
}
