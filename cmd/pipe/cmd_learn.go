package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/config"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/learn"
)

const learnText = `Learn closes the loop of a server: one run reads the decision log, looks whether it can be learned from, trains a policy
against the deployed one, judges it on decisions that were held out from training, and puts it where the server takes its
candidate from. Where nothing is new, or nothing is to be gained, it does nothing and says why. The first line that it
prints is the status.

A candidate that the gate has no verdict on stays, unless replace_running is set. The deployed file is replaced only with
promote: file: by a candidate that the gate promotes or, without a gate, by one whose gain is shown on held-out decisions.

It can run every night, and twice at once: the second run is refused (exit code 1). A run that was killed is simply
repeated: files are whole, and what was done is not done twice. With --dry-run nothing is written.

Exit codes: 0 if something was done, or there was nothing to do; 3 for files that cannot be used; 5 if the log cannot be
learned from, and the status names the problem: outcomes that are missing by pair, probabilities that do not fit what was
executed, no draws, too few outcomes.

docs/logs.md goes from a log to a promotion. docs/learn.md has the settings.`

const learnExamples = `  pipe learn --config loop.yaml
  pipe learn --config loop.yaml --dry-run
  pipe learn --config loop.yaml --json | jq -r .sentence
  pipe learn --config loop.yaml --quiet || mail -s "pipe learn" ops`

func learnCommand(a *app) *cobra.Command {
	o := learn.DefaultOptions()
	c := &cobra.Command{
		Use:     "learn --config FILE",
		Short:   "Learn from a server's log, again and again",
		Long:    learnText,
		Example: learnExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runLearn(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Config, "config", "YAML file with the settings of the loop")
	f.BoolVar(&o.DryRun, "dry-run", false, "do everything but write, and print what would be done")
	return c
}

func runLearn(c *cobra.Command, a *app, o learn.Options) error {
	if err := required(c, "config"); err != nil {
		return err
	}
	if err := config.Load(c.Context(), o.Config, &o.Settings); err != nil {
		return err
	}
	o.Device = a.runtime
	r, err := learn.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	if err := a.Print(r); err != nil || r.Verdict != learn.Refused {
		return err
	}
	return &cli.Finding{Code: exitcode.Alarm, Label: "refused: ", Msg: r.Sentence}
}
