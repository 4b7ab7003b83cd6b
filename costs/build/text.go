package build

import "context"

// Passage is a piece of text that was found for an instance.
type Passage struct {
	Page string // id of the page that it comes from, as the corpus spells it
	Text string
}

// retriever finds passages. It is safe for concurrent use.
type retriever interface {
	// Find returns, for every query, up to top passages, best first; equally good
	// ones in the order of their pages' names. No passage is found twice.
	Find(ctx context.Context, queries []string, top int) ([][]Passage, error)
}
