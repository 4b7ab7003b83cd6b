package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pipe/pipeline"
	"pipe/pipeline/stage"
)

const generateText = `Generate writes synthetic data with a known distribution, for tests, demonstrations and measurements of speed. The bytes depend on the
flags and not on the number of cores.`

const generateExamples = generateFraudExamples + "\n" + generatePagesExamples

func generateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "generate fraud|pages --out DIR",
		Short:   "Write synthetic data with a known distribution",
		Long:    generateText,
		Example: generateExamples,
		Args:    oneArg("what to generate: fraud or pages"),
		RunE: func(_ *cobra.Command, args []string) error {
			return &stage.UnknownError{What: "data", Name: args[0], Known: []string{"fraud", "pages"}}
		},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // those of data that are not known
	}
	c.AddCommand(generateFraudCommand(a), generatePagesCommand(a))
	return c
}

const generateFraudText = `Fraud writes train_transaction.csv and train_identity.csv as the IEEE-CIS competition has them (header, types,
spellings, gaps), with invented values. In the planted world every cell of the base view has an expert and a disclosure of
its own that are best; in the flat world nothing tells anything about the label. docs/generate.md has the law.`

const generateFraudExamples = `  pipe generate fraud --rows 20000 --world planted --seed 1 --out out/fraud-world
  pipe generate fraud --rows 12000 --columns 55 --world flat --out out/fraud-flat
  pipe generate fraud --rows 590540 --out out/fraud-full --json`

func generateFraudCommand(a *app) *cobra.Command {
	o := pipeline.DefaultFraudOptions()
	c := &cobra.Command{
		Use:     "fraud --rows N --out DIR",
		Short:   "Transactions of a world whose best policy is known",
		Long:    generateFraudText,
		Example: generateFraudExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := required(c, "out"); err != nil {
				return err
			}
			report, err := pipeline.GenerateFraud(c.Context(), o, a.progress())
			if err != nil {
				return err
			}
			return a.print(report)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Rows, "rows", o.Rows, "transactions")
	f.StringVar(&o.World, "world", o.World, strings.Join(pipeline.FraudWorlds(), " or "))
	f.Uint64Var(&o.Seed, "seed", o.Seed, "other seeds give other rows of the same world")
	f.IntVar(&o.Columns, "columns", o.Columns, "columns of the transaction file: 394, or 55 without the V columns")
	f.Float64Var(&o.FraudRate, "fraud-rate", o.FraudRate, "share of frauds in every cell")
	f.StringVarP(&o.Out, "out", "o", "", "folder for the two files")
	return c
}

const generatePagesText = `Pages writes a corpus in the format of FEVER's wiki-pages, 50,000 pages a file, of invented words whose frequencies follow
Zipf's law, 63 a page on average.`

const generatePagesExamples = `  pipe generate pages --pages 500000 --seed 1 --out out/pages`

func generatePagesCommand(a *app) *cobra.Command {
	o := pipeline.DefaultPagesOptions()
	c := &cobra.Command{
		Use:     "pages --pages N --out DIR",
		Short:   "Write a synthetic text corpus",
		Long:    generatePagesText,
		Example: generatePagesExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := required(c, "out"); err != nil {
				return err
			}
			report, err := pipeline.GeneratePages(c.Context(), o, a.progress())
			if err != nil {
				return err
			}
			return a.print(report)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Pages, "pages", o.Pages, "number of pages")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "other seeds give other pages of the same language")
	f.StringVarP(&o.Out, "out", "o", "", "folder for the files")
	return c
}
