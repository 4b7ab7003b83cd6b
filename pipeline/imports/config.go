package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// Outcomes is the configuration of the import, as Load returns it.
func (o Options) Outcomes(ctx context.Context) (outcome.Config, error) { return o.load(ctx) }

// Load reads the configuration of an import. Paths in the result are those of files: relative ones are joined to
// the folder of the configuration. A bad configuration is a *config.Error.
func Load(ctx context.Context, file storage.Location) (outcome.Config, error) {
	return Options{Config: file}.load(ctx)
}

// read reads a configuration that may be incomplete.
func read(ctx context.Context, file storage.Location) (outcome.Config, error) {
	f, err := config.Open(ctx, file)
	if err != nil {
		return outcome.Config{}, err
	}
	start, err := startOf(f, file.String())
	if err != nil {
		return start, err
	}
	cfg := unchecked(start)
	if err := f.Load(&cfg); err != nil {
		return start, err
	}
	dir, err := file.Dir().Abs()
	if err != nil {
		return start, err
	}
	Resolve(ctx, (*outcome.Config)(&cfg), dir)
	return outcome.Config(cfg), nil
}

// Resolve joins dir to the relative paths of the configuration. They are plain strings, because package costs does
// not depend on configuration files. An encoder that is no file in dir is a name in the cache of models.
func Resolve(ctx context.Context, c *outcome.Config, dir storage.Location) {
	files := []*storage.Location{&c.Outcomes.File, &c.Fees.File, &c.Fees.Prices}
	for i := range c.Features {
		files = append(files, &c.Features[i].File, &c.Features[i].Image.Folder)
	}
	for _, f := range files {
		if !f.IsZero() {
			*f = config.Resolve(f.URL(), dir)
		}
	}
	for i := range c.Features {
		for _, encoder := range []*string{&c.Features[i].Text.Encoder, &c.Features[i].Image.Encoder} {
			if inside := config.Resolve(*encoder, dir); *encoder != "" && exists(ctx, inside) {
				*encoder = inside.URL()
			}
		}
	}
}

func exists(ctx context.Context, path storage.Location) bool {
	_, err := path.Stat(ctx)
	return err == nil
}

// load reads the configuration and applies the other options.
func (o Options) load(ctx context.Context) (cfg outcome.Config, err error) {
	switch {
	case o.Preset != "" && !o.Config.IsZero():
		return cfg, &stage.OptionError{Err: errors.New("--preset and --config are both set; write preset: " + o.Preset + " into the configuration")}
	case o.Preset != "":
		cfg, err = o.loadPreset()
	default:
		cfg, err = read(ctx, o.Config)
	}
	if err != nil {
		return cfg, err
	}
	if !o.In.IsZero() {
		cfg.Outcomes.File = o.In
	}
	if !o.Prices.IsZero() {
		cfg.Fees.Prices = o.Prices
	}
	if o.Encoder != "" {
		if cfg, err = withEncoder(cfg, o.Encoder); err != nil {
			return cfg, err
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, &config.Error{File: cmp.Or(o.Config.String(), "preset "+o.Preset), Problems: config.Lines(err)}
	}
	return cfg, nil
}

func (o Options) loadPreset() (outcome.Config, error) {
	p, err := findPreset(o.Preset)
	switch {
	case err != nil:
		return outcome.Config{}, &stage.OptionError{Err: err}
	case o.In.IsZero():
		return outcome.Config{}, &stage.OptionError{Err: fmt.Errorf("--preset %s needs --in: %s", p.Name, p.Expects)}
	case o.Prices.IsZero() && needsPrices(p):
		return outcome.Config{}, &stage.OptionError{Err: fmt.Errorf("--preset %s needs --prices: a file with the prices of the models; docs/presets.md has an example", p.Name)}
	}
	return loadPreset(p, o.In.URL(), o.Prices.URL())
}
