package build

import "pipe/costs/retrieval/pagename"

// Passage is a piece of text that was found for an instance.
type Passage struct {
	Page string // id of the page that it comes from, as the corpus spells it
	Text string
}

// Title is the name of the page as people write it.
func (p Passage) Title() string { return pagename.Title(p.Page) }
