package auto

import (
	"fmt"
	"path/filepath"

	"pipe/models"
)

// announce starts a stage of the recipe with a number of steps.
func announce(o models.Options, name string, steps int) {
	if o.Stage != nil {
		o.Stage(name, steps)
	}
}

func advance(o models.Options, steps int) {
	if o.Progress != nil {
		o.Progress(steps)
	}
}

// stage are the options of one training run within the recipe. Each has a separate checkpoint folder.
func stage(o models.Options, name string) models.Options {
	if o.Save.Dir != "" {
		o.Save.Dir = filepath.Join(o.Save.Dir, name)
	}
	return o
}

// more says how many members of a family are not named.
func more(members int) string {
	if members == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", members-1)
}
