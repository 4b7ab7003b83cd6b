package build

import (
	"context"

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

// placeholder is where a template of Shown.Prompts takes the name of a class.
const placeholder = "{}"

// none shows nothing beyond the instance.
type none struct{}

func newNone(_ context.Context, s *Setup, settings map[string]any) (Advice, error) {
	return none{}, s.Settings(settings, &struct{}{})
}

// Show returns empty showings.
func (none) Show(_ context.Context, batch []Instance) ([]Shown, error) {
	return make([]Shown, len(batch)), nil
}

// same returns one showing for every instance of a batch.
func same(batch []Instance, what Shown) []Shown {
	shown := make([]Shown, len(batch))
	for n := range shown {
		shown[n] = what
	}
	return shown
}
