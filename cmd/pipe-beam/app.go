package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pipe/cmd/pipe-beam/engine"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/progress"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// app is what all commands share: the standard streams and the flags of the root.
type app struct {
	stdout, stderr io.Writer
	report         *progress.Reporter

	json, quiet bool
	runtime     ort.Config
	engine      engine.Settings
	work        shards.Options
	shards      int
}

func newApp(stdout, stderr io.Writer) *app {
	a := &app{stdout: stdout, stderr: stderr, runtime: ort.DefaultConfig(), engine: engine.Default(), work: shards.Default("")}
	f, ok := stderr.(*os.File)
	a.report = progress.New(stderr, ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd())))
	return a
}

func (a *app) progress() stage.Progress {
	if a.quiet {
		return stage.Quiet
	}
	return a.report
}

// cut checks the flags about shards, and completes them for an output.
func (a *app) cut(c *cobra.Command, out string) error {
	if a.shards < 1 || a.shards > shards.MaxShards {
		return usage(c, "--shards %d: name the number of shards, 1 to %d", a.shards, shards.MaxShards)
	}
	return a.place(c, out)
}

// place completes and checks where the shards of an output are kept.
func (a *app) place(c *cobra.Command, out string) error {
	if a.work.Work == "" {
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
			work.Work, do = storage.Join(work.Work, job.FolderOf(stage)), job.Make
		}
		j, err := job.New(stage, options, work)
		if err != nil {
			return err
		}
		r, err := do(c.Context(), j, job.Stages(), a.engine, a.progress())
		if err != nil {
			return err
		}
		if r == nil {
			continue // there is nothing to do before the last stage
		}
		a.progress().Note("%d shards of %s were made now, %d were there; their files stay in %s", r.Counts["shards_made"], stage, r.Counts["shards_found"], r.Work)
		if last {
			return a.print(r.Result)
		}
	}
	return nil
}

// print writes a result to standard output.
func (a *app) print(v any) error {
	if text, ok := v.(interface{ WriteText(io.Writer) error }); ok && !a.json {
		return text.WriteText(safetext.Writer(a.stdout))
	}
	if own, ok := v.(interface{ WriteJSON(io.Writer) error }); ok {
		return own.WriteJSON(a.stdout)
	}
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// absolute makes paths mean the same for workers, which run elsewhere. URLs and empty paths stay.
func absolute(paths ...*string) error {
	for _, p := range paths {
		if _, err := storage.Path(*p); err != nil {
			return err
		}
		if *p == "" || storage.IsURL(*p) {
			continue
		}
		if *p == "-" {
			return &usageError{"standard input and output are not those of the workers: name a file instead of -", "pipe-beam"}
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("path %q: %w", *p, err)
		}
		*p = abs
	}
	return nil
}
