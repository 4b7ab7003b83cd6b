package imports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// unchecked is a configuration that may be incomplete.
type unchecked outcome.Config

// Names of the files in the text of a preset.
const (
	presetFile   = "FILE"
	presetPrices = "PRICES"
)

// startOf returns what a configuration begins with: the preset that it names, else the defaults.
func startOf(f *config.File, file string) (outcome.Config, error) {
	first := unchecked(outcome.DefaultConfig())
	if err := f.Load(&first); err != nil {
		return outcome.Config{}, err
	}
	if first.Preset == "" {
		return outcome.DefaultConfig(), nil
	}
	p, err := findPreset(first.Preset)
	if err != nil {
		return outcome.Config{}, &config.Error{File: file, Problems: []string{err.Error()}}
	}
	return loadPreset(p, "", "")
}

func findPreset(name string) (outcome.Preset, error) {
	p, ok := outcome.FindPreset(name)
	if ok {
		return p, nil
	}
	return p, fmt.Errorf("unknown preset %q; known are %s", name, strings.Join(PresetNames(), ", "))
}

// PresetNames are the names of all presets of imports, sorted.
func PresetNames() []string {
	var names []string
	for _, p := range outcome.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// loadPreset is the configuration of a preset for a file of outcomes and a price file, which may be "".
func loadPreset(p outcome.Preset, file, prices string) (outcome.Config, error) {
	cfg := unchecked(outcome.DefaultConfig())
	value := func(name string) (string, bool) {
		text, ok := map[string]string{presetFile: file, presetPrices: prices}[name]
		return text, ok
	}
	if problems := config.Decode([]byte(p.Text), storage.Location{}, value, &cfg); len(problems) > 0 {
		return outcome.Config{}, &config.Error{File: "preset " + p.Name, Problems: problems}
	}
	cfg.Preset = p.Name
	return outcome.Config(cfg), nil
}

func needsPrices(p outcome.Preset) bool { return strings.Contains(p.Text, "${"+presetPrices+"}") }

// withEncoder replaces the features of tables with lengths of texts by the vectors of these texts.
func withEncoder(cfg outcome.Config, encoder string) (outcome.Config, error) {
	cfg.Features = slices.Clone(cfg.Features)
	cfg.FeatureName = ""
	found := false
	for i := range cfg.Features {
		f := &cfg.Features[i]
		if len(f.Length) == 0 {
			continue
		}
		found = true
		f.Text = outcome.TextColumns{Columns: f.Length, Encoder: encoder}
		f.Length, f.Categorical, f.Columns, f.List = nil, nil, nil, ""
	}
	if !found {
		return cfg, &stage.OptionError{Err: errors.New("--encoder makes vectors of the texts whose length is a feature, but features have no length; write features.text instead")}
	}
	return cfg, nil
}

// presetNote says what the features of a preset leave out, "" if the configuration has others.
func presetNote(cfg outcome.Config) string {
	p, ok := outcome.FindPreset(cfg.Preset)
	if !ok {
		return ""
	}
	base, err := loadPreset(p, "", "")
	if err != nil || !reflect.DeepEqual(base.Features, cfg.Features) {
		return ""
	}
	var names []string
	for _, f := range cfg.Features {
		for _, name := range f.Length {
			names = append(names, "the length of "+name)
		}
		names = append(names, f.Categorical...)
	}
	return "features are only " + strings.Join(names, " and ") + "; --encoder MODEL makes vectors of the texts instead"
}

// PresetText is the configuration that a preset has. It is the JSON object of pipe import --explain --json.
type PresetText struct {
	Format int    `json:"format"`
	Preset string `json:"preset"`
	Config string `json:"config"` // YAML with comments
}

// WriteText writes the configuration alone, which can be saved as a file.
func (t *PresetText) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, t.Config)
	return err
}

// ExplainPreset returns the full configuration of the options. A file that is not given has a placeholder name.
func ExplainPreset(o Options) (*PresetText, error) {
	p, err := findPreset(o.Preset)
	if err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	file, prices := cmp.Or(o.In.String(), "FILE"), cmp.Or(o.Prices.String(), "prices.yaml")
	text := strings.NewReplacer(`"${`+presetFile+`}"`, strconv.Quote(file), `"${`+presetPrices+`}"`, strconv.Quote(prices)).Replace(p.Text)
	if o.Encoder != "" {
		if text, err = explainEncoder(p, text, o.Encoder); err != nil {
			return nil, err
		}
	}
	return &PresetText{Format: 1, Preset: p.Name, Config: text}, nil
}

// explainEncoder writes the features of an encoder in place of those of the preset.
func explainEncoder(p outcome.Preset, text, encoder string) (string, error) {
	base, err := loadPreset(p, "", "")
	if err != nil {
		return "", err
	}
	cfg, err := withEncoder(base, encoder)
	if err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(text, "\nfeatures:\n")
	var b strings.Builder
	b.WriteString(head + "\nfeatures:\n")
	for _, f := range cfg.Features {
		fmt.Fprintf(&b, "  - {id: %s, text: {columns: [%s], encoder: %s}}\n", f.ID, strings.Join(f.Text.Columns, ", "), strconv.Quote(encoder))
	}
	return b.String(), nil
}
