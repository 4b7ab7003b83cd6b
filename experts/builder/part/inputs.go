package part

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/internal/digest"
)

// Inputs maps everything that the result of a build depends on to a digest or to a short literal text. A name is "ROLE
// of PART", or only a role if it belongs to no part.
type Inputs map[string]string

// Roles with a special meaning.
const (
	// SettingsRole is the role of settings: one digest stands for all of them in a tensor.
	SettingsRole = "settings"
	// ImagePrefix starts the names of the inputs that are single images. They are many: one digest stands for all.
	ImagePrefix = "image "
)

// InputName is the name of an input that belongs to a part.
func InputName(role, part string) string { return role + " of " + part }

// Set adds an input of a part.
func (m Inputs) Set(role, part, value string) { m[InputName(role, part)] = value }

// SetJSON adds the digest of the JSON form of v as an input of a part.
func (m Inputs) SetJSON(role, part string, v any) error {
	sum, err := digest.JSON(v)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	m.Set(role, part, sum)
	return nil
}

// Of returns the names of the inputs that belong to one of the parts, sorted.
func (m Inputs) Of(parts ...string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		belongs := func(part string) bool { return strings.HasSuffix(name, InputName("", part)) }
		if slices.ContainsFunc(parts, belongs) {
			names = append(names, name)
		}
	}
	return names
}
