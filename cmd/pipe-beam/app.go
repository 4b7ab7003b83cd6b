package main

import (
	"encoding/json"
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

// run has the runner do the shards of a stage, and prints the report of the stage.
func (a *app) run(c *cobra.Command, stage, out string, options any) error {
	if err := a.engine.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	if a.work.Work == "" {
		a.work.Work = shards.Beside(out)
	}
	if err := absolute(&a.work.Work); err != nil {
		return err
	}
	if err := a.work.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	j, err := job.New(stage, options, a.work)
	if err != nil {
		return err
	}
	r, err := job.Run(c.Context(), j, job.Stages(), a.engine, a.progress())
	if err != nil {
		return err
	}
	a.progress().Note("%d shards of %s were made now, %d were there; their files stay in %s",
		r.Counts["shards_made"], stage, r.Counts["shards_found"], r.Work)
	return a.print(r.Result)
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
		if *p == "" || storage.IsURL(*p) {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("path %q: %w", *p, err)
		}
		*p = abs
	}
	return nil
}
