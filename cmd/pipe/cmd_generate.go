package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const generateText = `Generate writes data whose law is known, for tests, demonstrations and measurements of speed.

fraud: train_transaction.csv and train_identity.csv as the IEEE-CIS competition has them (header, types, spellings, gaps),
with invented values. In the planted world every cell of the base view has an expert and a disclosure of its own that are
best; in the flat world nothing tells anything about the label. docs/generate.md has the law.

pages: a corpus in the format of FEVER's wiki-pages, 50,000 pages a file, of invented words whose frequencies follow
Zipf's law, 63 a page on average.

The bytes depend on the flags and not on the number of cores.`

const generateExamples = `  pipe generate fraud --rows 20000 --world planted --seed 1 --out out/fraud-world
  pipe generate fraud --rows 12000 --columns 55 --world flat --out out/fraud-flat
  pipe generate fraud --rows 590540 --out out/fraud-full --json
  pipe generate pages --pages 500000 --seed 1 --out out/pages`

func generateCommand(a *app) *cobra.Command {
	o, pages := pipeline.DefaultFraudOptions(), pipeline.DefaultPagesOptions()
	c := &cobra.Command{
		Use:       "generate fraud|pages --out DIR",
		Short:     "Write data whose law is known",
		Long:      generateText,
		Example:   generateExamples,
		Args:      oneArg("what to generate: fraud or pages"),
		ValidArgs: []string{"fraud", "pages"},
		RunE: func(c *cobra.Command, args []string) error {
			pages.Seed, pages.Out = o.Seed, o.Out
			return runGenerate(c, a, args[0], o, pages)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Rows, "rows", o.Rows, "transactions of fraud")
	f.IntVar(&pages.Pages, "pages", pages.Pages, "number of pages")
	f.StringVar(&o.World, "world", o.World, strings.Join(pipeline.FraudWorlds(), " or "))
	f.Uint64Var(&o.Seed, "seed", o.Seed, "other seeds give other rows of the same world, and other pages")
	f.IntVar(&o.Columns, "columns", o.Columns, "columns of the transaction file: 394, or 55 without the V columns")
	f.Float64Var(&o.FraudRate, "fraud-rate", o.FraudRate, "share of frauds in every cell")
	f.StringVarP(&o.Out, "out", "o", "", "folder for the files")
	return c
}

func runGenerate(c *cobra.Command, a *app, what string, o pipeline.FraudOptions, pages pipeline.PagesOptions) error {
	if what != "fraud" && what != "pages" {
		return &pipeline.UnknownError{What: "data", Name: what, Known: []string{"fraud", "pages"}}
	}
	if err := required(c, "out"); err != nil {
		return err
	}
	if what == "pages" {
		report, err := pipeline.GeneratePages(c.Context(), pages, a.progress())
		if err != nil {
			return err
		}
		return a.print(report)
	}
	report, err := pipeline.GenerateFraud(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	return a.print(report)
}
