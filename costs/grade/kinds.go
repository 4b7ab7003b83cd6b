package grade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kinds are the kinds of graders. A new one is a file with its settings and its constructor, and one line here.
var kinds = map[string]newGrader{
	"exact":  newExact,
	"f1":     newF1,
	"json":   newJSON,
	"judge":  newJudge,
	"number": newNumber,
	"pair":   newPair,
	"regexp": newRegexp,
}

// newGrader makes a grader from its settings. models is nil where no model can be opened.
type newGrader = func(ctx context.Context, settings map[string]any, models Models) (Grader, error)

// Config chooses a grader by its kind; every other key is a setting of that kind.
type Config struct {
	Kind     string         `yaml:"kind" json:"kind"`
	Settings map[string]any `yaml:",inline" json:"settings,omitempty"`
}

// Kinds returns the names of the kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Open makes a grader. models opens the models that it needs; nil is enough for kinds that need none. An error lists every
// problem of the settings.
func Open(ctx context.Context, c Config, models Models) (Grader, error) {
	create, ok := kinds[c.Kind]
	switch {
	case c.Kind == "":
		return nil, errors.New("kind: not set; known are " + strings.Join(Kinds(), ", "))
	case !ok:
		return nil, fmt.Errorf("unknown kind %q of a grader; known are %s", c.Kind, strings.Join(Kinds(), ", "))
	}
	return create(ctx, c.Settings, models)
}
