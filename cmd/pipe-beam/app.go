package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/engine"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/shards"
)

// app is the state that all commands share.
type app struct {
	*cli.Program
	runtime ort.Config
	engine  engine.Settings
	work    shards.Options
	shards  int
	stores  []storage.Location // of the command line, with parameters
}

var usage, noArgs = cli.Usage[*cobra.Command], cli.NoArgs[*cobra.Command]

// cut checks the flags about shards, and completes them for an output.
func (a *app) cut(c *cobra.Command, out storage.Location) error {
	if a.shards < 1 || a.shards > shards.MaxShards {
		return usage(c, "--shards %d: name the number of shards, 1 to %d", a.shards, shards.MaxShards)
	}
	return a.place(c, out)
}

// place completes and checks where the shards of an output are kept.
func (a *app) place(c *cobra.Command, out storage.Location) error {
	if a.work.Work.IsZero() {
		a.work.Work = shards.Beside(out)
	}
	if err := absolute(&a.work.Work); err != nil {
		return err
	}
	if err := errors.Join(a.work.Validate(), a.engine.Validate()); err != nil {
		return usage(c, "%v", err)
	}
	return nil
}

// run has the runner do the shards of stages, one stage after the other, and prints the report of the last one. The shards of those before it are
// kept in a folder of its work folder.
func (a *app) run(c *cobra.Command, stages []string, options any) error {
	for i, stage := range stages {
		last, work, do := i == len(stages)-1, a.work, job.Run
		if !last {
			work.Work, do = work.Work.Join(job.FolderOf(stage)), job.Make
		}
		j, err := job.New(stage, options, a.stores, work)
		if err != nil {
			return err
		}
		r, err := do(c.Context(), j, job.Stages(), a.engine, a.Progress())
		if err != nil {
			return err
		}
		if r == nil {
			continue // there is nothing to do before the last stage
		}
		a.Progress().Note("%d shards of %s were made now, %d were there; their files stay in %s", r.Counts["shards_made"], stage, r.Counts["shards_found"], r.Work)
		if last {
			return a.Print(r.Result)
		}
	}
	return nil
}

// parseLocations parses every path and URL of the command line.
func (a *app) parseLocations(c *cobra.Command, args []string) (err error) {
	accept := func(*pflag.Flag, storage.Location) error { return nil }
	a.stores, err = cli.ParseLocations(c.Flags(), args, accept, "endpoint", "environment-config", "beam-flag")
	return err
}

// absolute makes paths mean the same for workers, which run elsewhere. URLs and empty paths stay.
func absolute(paths ...*storage.Location) (err error) {
	for _, p := range paths {
		if p.IsZero() {
			continue
		}
		if p.Path() == "-" {
			return &cli.UsageError{Msg: "standard input and output are not those of the workers: name a file instead of -", Command: "pipe-beam"}
		}
		if *p, err = p.Abs(); err != nil {
			return fmt.Errorf("path %q: %w", *p, err)
		}
	}
	return nil
}

// required is a usage error that names required flags without a value.
func required(c *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if c.Flag(name).Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage(c, "%s needs a value", strings.Join(missing, " and "))
}
