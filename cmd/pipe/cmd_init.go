package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/storage"
	"pipe/pipeline/propose"
)

const initText = `Init looks at a table of outcomes and writes the configuration with which pipe import reads it. It finds out which columns
name the request, the expert, the advice and the outcome, and which of the others are known before a request is answered.
Each line of the configuration says why it is there, and what is uncertain is marked with CHECK.

The table is CSV, JSON lines or Parquet, with a row per request and expert, a row per request with a column per expert, or a
row per decision with its probability. If what is known of a request is in another table, name that with --features.

Before the configuration is written, an import with it is tried. A table from which nothing can be learned is an error that
says what to record.`

const initExamples = `  pipe init answers.csv
  pipe init answers.csv --features requests.csv --out answers.yaml
  pipe init answers.csv --outcomes alice,bob,carol
  pipe init answers.parquet --replace --json`

func initCommand(a *app) *cobra.Command {
	var o propose.Options
	c := &cobra.Command{
		Use:     "init FILE",
		Short:   "Look at a table of outcomes and write its configuration",
		Long:    initText,
		Example: initExamples,
		Args:    oneArg("a table of outcomes"),
		RunE: func(c *cobra.Command, args []string) error {
			o.In = cli.Locations(args)[0]
			if o.Out.IsZero() {
				name, _, _ := strings.Cut(strings.TrimLeft(o.In.Base(), "."), ".")
				o.Out = storage.File(name + ".yaml")
			}
			defer a.Progress().Done()
			r, err := propose.Run(c.Context(), o, a.Progress())
			if err != nil {
				return err
			}
			return a.Print(r)
		},
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Features, "features", "a table with what is known of each request, joined by its id")
	cli.LocationVarP(f, &o.Out, "out", "o", "the configuration to write (default: the name of FILE with .yaml, in this folder)")
	f.StringSliceVar(&o.Outcomes, "outcomes", nil, "the columns that say how well each expert answered, in a table with a row per request (default: found by their names)")
	f.BoolVar(&o.Replace, "replace", false, "write over a configuration that exists")
	return c
}
