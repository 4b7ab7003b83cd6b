package build

import "pipe/costs/builder/part"

// fuzzSetup is what readers need of a build.
func fuzzSetup(labels ...string) *part.Setup {
	return (&part.Build{Labels: labels, Inputs: make(part.Inputs)}).Setup("part")
}
