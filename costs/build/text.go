package build

import (
	"context"

	"pipe/costs/retrieval/bm25"
)

// Passage is a piece of text that was found for an instance.
type Passage struct {
	Page string // id of the page that it comes from, as the corpus spells it
	Text string
}

// Title is the name of the page as people write it.
func (p Passage) Title() string { return bm25.Title(p.Page) }

// retriever finds passages. It is safe for concurrent use.
type retriever interface {
	// Find returns, for every query, up to top passages, best first; equally good
	// ones in the order of their pages' names. No passage is found twice.
	Find(ctx context.Context, queries []string, top int) ([][]Passage, error)
}
