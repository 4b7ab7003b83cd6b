package outcome

import (
	"embed"
	"path"
	"strings"
)

// Preset is the configuration of a published table, as YAML text.
type Preset struct {
	Name string
	// Text refers to the file of outcomes as ${FILE} and to a price file as
	// ${PRICES}; its features are last.
	Text    string
	Expects string // one sentence about the table: the comment at the beginning of the text
}

// presetFiles has a file for every preset, which is all that a new one needs.
//
//go:embed presets/*.yaml
var presetFiles embed.FS

// Presets are all presets, by name.
func Presets() []Preset {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(err) // it was embedded
	}
	var all []Preset
	for _, f := range files {
		text, err := presetFiles.ReadFile(path.Join("presets", f.Name()))
		if err != nil {
			panic(err)
		}
		all = append(all, Preset{strings.TrimSuffix(f.Name(), ".yaml"), string(text), firstComment(string(text))})
	}
	return all
}

// FindPreset returns the preset with this name.
func FindPreset(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// firstComment joins the lines of the comment with which a text begins.
func firstComment(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			break
		}
		lines = append(lines, comment)
	}
	return strings.TrimSuffix(strings.Join(lines, " "), ".")
}
