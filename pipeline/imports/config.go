package imports

import (
	"errors"
	"fmt"
	"path/filepath"

	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// Outcomes is the configuration of the import, as Load returns it.
func (o Options) Outcomes() (outcome.Config, error) { return o.load() }

// Load reads the configuration of an import. Paths in the result are those of files: relative ones are joined to
// the folder of the configuration. A bad configuration is a *config.Error.
func Load(file string) (outcome.Config, error) { return Options{Config: file}.load() }

// read reads a configuration that may be incomplete.
func read(file string) (outcome.Config, error) {
	f, err := config.Open(file)
	if err != nil {
		return outcome.Config{}, err
	}
	start, err := startOf(f, file)
	if err != nil {
		return start, err
	}
	cfg := unchecked(start)
	if err := f.Load(&cfg); err != nil {
		return start, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return start, err
	}
	Resolve((*outcome.Config)(&cfg), dir)
	return outcome.Config(cfg), nil
}

// Resolve joins dir to the relative paths of the configuration. They are plain strings, because package costs does
// not depend on configuration files. An encoder that is no file in dir is a name in the cache of models.
func Resolve(c *outcome.Config, dir string) {
	files := []*string{&c.Outcomes.File, &c.Fees.File, &c.Fees.Prices}
	for i := range c.Features {
		files = append(files, &c.Features[i].File, &c.Features[i].Image.Folder)
	}
	for _, f := range files {
		if *f != "" {
			*f = config.Resolve(*f, dir)
		}
	}
	for i := range c.Features {
		for _, encoder := range []*string{&c.Features[i].Text.Encoder, &c.Features[i].Image.Encoder} {
			if inside := config.Resolve(*encoder, dir); *encoder != "" && exists(inside) {
				*encoder = inside
			}
		}
	}
}

func exists(path string) bool {
	_, err := storage.Stat(path)
	return err == nil
}

// load reads the configuration and applies the other options.
func (o Options) load() (cfg outcome.Config, err error) {
	switch {
	case o.Preset != "" && o.Config != "":
		return cfg, &stage.OptionError{Err: errors.New("--preset and --config are both set; write preset: " + o.Preset + " into the configuration")}
	case o.Preset != "":
		cfg, err = o.loadPreset()
	default:
		cfg, err = read(o.Config)
	}
	if err != nil {
		return cfg, err
	}
	if o.In != "" {
		cfg.Outcomes.File = o.In
	}
	if o.Prices != "" {
		cfg.Fees.Prices = o.Prices
	}
	if o.Encoder != "" {
		if cfg, err = withEncoder(cfg, o.Encoder); err != nil {
			return cfg, err
		}
	}
	if err := cfg.Validate(); err != nil {
		file := o.Config
		if file == "" {
			file = "preset " + o.Preset
		}
		return cfg, &config.Error{File: file, Problems: config.Lines(err)}
	}
	return cfg, nil
}

func (o Options) loadPreset() (outcome.Config, error) {
	p, err := findPreset(o.Preset)
	switch {
	case err != nil:
		return outcome.Config{}, &stage.OptionError{Err: err}
	case o.In == "":
		return outcome.Config{}, &stage.OptionError{Err: fmt.Errorf("--preset %s needs --in: %s", p.Name, p.Expects)}
	case o.Prices == "" && needsPrices(p):
		return outcome.Config{}, &stage.OptionError{Err: fmt.Errorf("--preset %s needs --prices: a file with the prices of the models; docs/presets.md has an example", p.Name)}
	}
	return loadPreset(p, o.In, o.Prices)
}
