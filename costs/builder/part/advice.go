package part

import (
	"context"

	"pipe/costs/retrieval/pagename"
	"pipe/featurize/pixel"
)

// Advice turns instances into what an expert is shown. It is safe for
// concurrent use.
type Advice interface {
	// Show returns what is shown of each instance, in the order of the batch.
	Show(ctx context.Context, batch []Instance) ([]Shown, error)
}

// Shown is what an expert sees of an instance besides the instance itself. A
// source fills what it is about; an expert reads what it understands.
type Shown struct {
	Views    []pixel.View // ways to look at the image; none: the image as it is
	Revealed []bool       // per column of the table; nil: all are revealed
	Groups   []bool       // per column group of an encoded table; nil: the first group alone
	Passages []Passage    // found for the instance, best first
	Query    string       // by which they were found, if it is not the instance's text
	Prompts  []string     // templates for the names of classes, each with one placeholder
}

// Placeholder is where a template of Shown.Prompts takes the name of a class.
const Placeholder = "{}"

// Passage is a piece of text that was found for an instance.
type Passage struct {
	Page string // id of the page that it comes from, as the corpus spells it
	Text string
}

// Title is the name of the page as people write it.
func (p Passage) Title() string { return pagename.Title(p.Page) }

// PassageCounter is advice that shows passages.
type PassageCounter interface {
	Most() int // passages of an instance, at most
}

// Queried is advice that asks a model for every showing, which may take money or
// time: it is not asked before its showings are needed.
type Queried interface {
	Queried() bool
}

// PromptLister is advice that shows the same templates of prompts for every instance.
type PromptLister interface {
	Templates() []string // each has one placeholder; the caller does not change them
}

// ViewLister is advice that shows the same views of every image.
type ViewLister interface {
	Views() []pixel.View // the caller does not change them
}

// ShowAll returns one showing for every instance of a batch.
func ShowAll(batch []Instance, what Shown) []Shown {
	shown := make([]Shown, len(batch))
	for n := range shown {
		shown[n] = what
	}
	return shown
}
