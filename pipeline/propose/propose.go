package propose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/costs/outcome/look"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/hint"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// Options are the options of Run.
type Options struct {
	In       storage.Location // the table of outcomes
	Features storage.Location // a table with what is known of each request; may be empty
	Outcomes []string         // the columns of outcomes of a table with a row per request; nil: they are looked for
	Out      storage.Location // the configuration
	Replace  bool             // a file at Out
}

// Run looks at a table and writes a configuration for its import. A table that cannot be used is a *costs.DataError with a hint, and wrong options are a *stage.OptionError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	progress = stage.OrQuiet(progress)
	progress.Start(-1, "look")
	outcomes, err := look.Read(ctx, o.In)
	if err != nil {
		return nil, err
	}
	var features *look.Table
	if !o.Features.IsZero() {
		if features, err = look.Read(ctx, o.Features); err != nil {
			return nil, err
		}
	}
	p, err := look.Propose(outcomes, features, o.Outcomes)
	if err != nil {
		return nil, err
	}
	text, t, tried, err := o.try(ctx, p)
	if err != nil {
		return nil, err
	}
	if alike(t) {
		return nil, hint.With(&costs.DataError{
			File: o.In.String(), Msg: "every expert has the same outcome on each request, so no choice is better than another but for its fee, and there is nothing to learn",
		}, "record requests on which the experts differ, or outcomes that tell better answers from worse ones, such as scores")
	}
	if checks := afterwards(p, tried); len(checks) > 0 {
		p.Checks = append(p.Checks, checks...)
		if text, err = o.text(p); err != nil {
			return nil, err
		}
	}
	if err := atomicfile.MakeFolderAt(ctx, o.Out); err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFileAt(ctx, o.Out, []byte(text)); err != nil {
		return nil, err
	}
	return newReport(o, p, tried), nil
}

// check reports files that would be replaced, and logs that need no configuration.
func (o Options) check(ctx context.Context) error {
	reads := stage.NamedFiles(o.In, o.Features)
	if err := (stage.Files{Reads: reads, Writes: []stage.Output{{Path: o.Out}}}).Check(ctx); err != nil {
		return err
	}
	if !o.In.IsRemote() && decisionlog.IsLog(o.In.Path()) {
		return &stage.OptionError{Err: fmt.Errorf("%q is a decision log of pipe serve, which needs no configuration: pipe import --log %s --out costs.parquet", o.In, safetext.Shell(o.In.String()))}
	}
	if _, err := o.Out.Stat(ctx); err == nil && !o.Replace {
		return &stage.OptionError{Err: fmt.Errorf("%q exists: choose another --out, or give --replace", o.Out)}
	}
	return nil
}

// afterwards is what an import that was tried shows to be uncertain.
func afterwards(p *look.Proposal, tried outcome.Report) (checks []string) {
	if lost := tried.Instances - tried.Kept; lost > 0 {
		check := fmt.Sprintf("%d of %d requests are left out", lost, tried.Instances)
		for _, d := range tried.Dropped {
			check += fmt.Sprintf("; %d are %s, such as %s", d.Count, d.Reason, textfile.Listed(d.First, 3))
		}
		if expert, has, of := p.Rarest(); has < of {
			check += fmt.Sprintf("; %s has the fewest outcomes, %d: leave it out, or write missing: keep", expert, has)
		}
		checks = append(checks, check)
	}
	switch s := tried.Splits; {
	case s["train"] == 0:
		checks = append(checks, "no request is in the split train, from which pipe train learns")
	case s["val"]+s["test"] == 0:
		checks = append(checks, "all requests are in the split train, so none judges the policy: leave out the column of splits, or give some requests another one")
	}
	return checks
}

// text is the proposed configuration.
func (o Options) text(p *look.Proposal) (string, error) {
	dir, err := o.Out.Dir().Abs()
	return p.Config(func(file storage.Location) string { return from(dir, file) }), err
}

// try imports with the proposed configuration, without writing anything. Where requests are not complete, they are left out.
func (o Options) try(ctx context.Context, p *look.Proposal) (text string, t *costs.Tensor, report outcome.Report, err error) {
	dir, err := o.Out.Dir().Abs()
	if err != nil {
		return "", nil, report, err
	}
	once := func() error {
		if text, err = o.text(p); err != nil {
			return err
		}
		cfg := outcome.DefaultConfig()
		if problems := config.Decode([]byte(text), dir, os.LookupEnv, &cfg); len(problems) > 0 {
			return &config.Error{File: o.Out.String(), Problems: problems}
		}
		resolve(&cfg, dir)
		t, report, err = outcome.Import(ctx, cfg)
		return err
	}
	first := once()
	if bad := (*costs.DataError)(nil); errors.As(first, &bad) {
		p.Drop = true
		if once() == nil {
			return text, t, report, nil
		}
	}
	return text, t, report, first
}

// alike reports whether no outcome depends on the pair. Of a log with one outcome per request, that are equal outcomes. Where fees
// are measured, they may differ instead.
func alike(t *costs.Tensor) bool {
	if t.Fee != nil {
		return false
	}
	exists, first := t.Actions.Mask(), float32(math.NaN())
	for n := range t.Len() {
		losses := t.Losses(n)
		if t.Propensity == nil {
			first = float32(math.NaN())
		}
		for i, v := range losses {
			switch {
			case v != v || !exists[i]:
			case first != first:
				first = v
			case v != first:
				return false
			}
		}
	}
	return true
}

// resolve joins the folder of the configuration to the paths of its tables.
func resolve(c *outcome.Config, dir storage.Location) {
	c.Outcomes.File = config.Resolve(c.Outcomes.File.URL(), dir)
	for i := range c.Features {
		if !c.Features[i].File.IsZero() {
			c.Features[i].File = config.Resolve(c.Features[i].File.URL(), dir)
		}
	}
}

// from is the path of a file from a folder. In the bucket of the configuration a file has the parameters of its URL; elsewhere it keeps its
// own, without which it could not be read.
func from(dir, file storage.Location) string {
	if name, below := dir.Rel(file); below {
		return name
	}
	switch {
	case file.IsRemote() && file.Bucket() == dir.Bucket():
		return file.String()
	case file.IsRemote() || dir.IsRemote():
		return file.URL()
	}
	full, err := file.Abs()
	if err != nil {
		return file.Path()
	}
	path, err := filepath.Rel(dir.Path(), full.Path())
	if err != nil {
		return full.Path()
	}
	return filepath.ToSlash(path)
}
