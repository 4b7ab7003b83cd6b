package part

import (
	"context"

	"pipe/experts/retrieval/pagename"
	"pipe/featurize/pixel"
)

// Advice produces what an expert is shown for an instance. It is safe for
// concurrent use.
type Advice interface {
	// Show returns what is shown for each instance, in the order of the batch:
	// as many as the batch has, or the build stops.
	Show(ctx context.Context, batch []Instance) ([]AdvicePayload, error)
}

// AdvicePayload is what an expert sees besides the instance itself. Each kind of advice
// fills in some fields; an expert reads the fields that it supports.
type AdvicePayload struct {
	Views    []pixel.View // views of the image; none: the plain image
	Revealed []bool       // per column of the table; nil: all are revealed
	Groups   []bool       // per column group of an encoded table; nil: the first group alone
	Passages []Passage    // found for the instance, best first
	Query    string       // by which they were found, if it is not the instance's text
	Prompts  []string     // templates for the names of classes, each with one placeholder
	// Fields are fields of the requests to a chat model, by the protocol of its service. An expert that reads them is a FieldTaker.
	Fields map[string]map[string]any
}

// Placeholder stands for the name of a class in a template of AdvicePayload.Prompts.
const Placeholder = "{}"

// Passage is a piece of text that was found for an instance.
type Passage struct {
	Page string // id of the page that it comes from, as the corpus spells it
	Text string
}

// Title is the readable name of the page.
func (p Passage) Title() string { return pagename.Title(p.Page) }

// PassageCounter is advice that shows passages.
type PassageCounter interface {
	Most() int // largest number of passages of an instance
}

// ModelQuerier is advice that may ask a model for every showing, which may cost
// money or time. If QueriesModel is true, it is asked only when its showings are
// needed.
type ModelQuerier interface {
	QueriesModel() bool
}

// PromptLister is advice that shows the same templates of prompts for every instance.
type PromptLister interface {
	Templates() []string // each has one placeholder; the caller must not modify them
}

// FieldSetter is advice that sets fields of the requests to chat models. No other expert than a FieldTaker can be under it.
type FieldSetter interface {
	Fields(protocol string) map[string]any // nil: none; the caller must not modify them
}

// ViewLister is advice that shows the same views of every image.
type ViewLister interface {
	Views() []pixel.View // the caller must not modify them
}

// ShowAll returns one showing for every instance of a batch.
func ShowAll(batch []Instance, what AdvicePayload) []AdvicePayload {
	shown := make([]AdvicePayload, len(batch))
	for n := range shown {
		shown[n] = what
	}
	return shown
}
