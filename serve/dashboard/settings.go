package dashboard

import (
	"errors"
	"fmt"
)

// Settings bound the memory of a [Collector]. DefaultSettings are sensible; the zero value is not valid.
type Settings struct {
	// Outcomes is the most decisions that wait for their outcome, for each version of a policy, in at most 8 MB. The oldest
	// are dropped.
	Outcomes int `yaml:"outcomes"`
	// Sample is the number of recent rows of features for the frontier, for each version of a policy. They are in memory
	// only. 0: none are stored, and there is no frontier.
	Sample int `yaml:"sample"`
	// Versions is the most versions of policies with figures. Beyond that, the one that was used longest ago is dropped.
	Versions int `yaml:"versions"`
}

// DefaultSettings use a few megabytes for each version.
func DefaultSettings() Settings { return Settings{Outcomes: 1 << 16, Sample: 256, Versions: 16} }

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var problems []error
	for _, v := range []struct {
		name               string
		value, least, most int
	}{{"outcomes", s.Outcomes, 1, 1 << 22}, {"sample", s.Sample, 0, 4096}, {"versions", s.Versions, 1, 1024}} {
		if v.value < v.least || v.value > v.most {
			problems = append(problems, fmt.Errorf("%s %d is not from %d to %d", v.name, v.value, v.least, v.most))
		}
	}
	return errors.Join(problems...)
}
