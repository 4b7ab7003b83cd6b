package part

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"pipe/costs/observe"
)

// Observe names the facts of answers that a build writes down. In a configuration it is a list, or true for all facts.
type Observe []string

// UnmarshalYAML reads true, false or a list of names.
func (o *Observe) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Load((*[]string)(o))
	}
	all := false
	if err := n.Load(&all); err != nil {
		return fmt.Errorf("is %.40q, not true, false or a list of facts", n.Value)
	}
	if *o = nil; all {
		*o = observe.Names()
	}
	return nil
}

// Observable is an expert that says which facts of its answers may be known. Prediction.Seen has those that the build does
// not know. Of another expert the build takes the label, and the confidence if it is a Classifier; where the answers are
// open, it takes what the text of the answer shows.
type Observable interface {
	Observes() []string // names of package costs/observe
}
