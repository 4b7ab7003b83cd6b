package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/storage"
	"pipe/pipeline/demo"
)

const demoText = `Demo invents a log of requests that a small and a large model have answered, with documentation and without. It imports the
log, learns who should answer what, and says whether that pays. The answers are drawn at random from known chances; the
verdict is computed from them as from any log.

It prints the commands that do the same, and leaves all files in a new folder.`

const demoExamples = `  pipe demo
  pipe demo --out out/demo --seed 7
  pipe demo --rows 20000 --json`

func demoCommand(a *app) *cobra.Command {
	o := demo.DefaultOptions()
	o.Out = storage.File("pipe-demo")
	c := &cobra.Command{
		Use:     "demo",
		Short:   "From an invented log to a verdict, in seconds",
		Long:    demoText,
		Example: demoExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Runtime = a.runtime
			defer a.Progress().Done()
			r, err := demo.Run(c.Context(), o, a.Progress())
			if err != nil {
				return err
			}
			return a.Print(r)
		},
	}
	f := c.Flags()
	cli.LocationVarP(f, &o.Out, "out", "o", "a new folder for all files")
	f.IntVar(&o.Rows, "rows", o.Rows, "number of requests, 100 to 1000000")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "another seed invents another log")
	return c
}
