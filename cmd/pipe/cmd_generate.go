package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/world"
	"pipe/pipeline/stage"
)

const generateText = `Generate writes synthetic data with a known distribution, for tests, demonstrations and speed measurements. The bytes
depend only on the flags, not on the number of cores.`

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
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // flags of an unknown kind of data
	}
	c.AddCommand(generateFraudCommand(a), generatePagesCommand(a))
	return c
}

const generateFraudText = `Fraud writes train_transaction.csv and train_identity.csv in the format of the IEEE-CIS competition (header, types,
spellings, missing values), with synthetic values. With --world planted, the best expert and the best disclosure differ by
cell and are known. With --world flat, no column depends on the label. docs/generate.md describes the distribution.`

const generateFraudExamples = `  pipe generate fraud --rows 20000 --world planted --seed 1 --out out/fraud-world
  pipe generate fraud --rows 12000 --columns 55 --world flat --out out/fraud-flat
  pipe generate fraud --rows 590540 --out out/fraud-full --json`

func generateFraudCommand(a *app) *cobra.Command {
	o := world.DefaultFraudOptions()
	c := &cobra.Command{
		Use:     "fraud --rows N --out DIR",
		Short:   "Write synthetic transactions with a known optimal policy",
		Long:    generateFraudText,
		Example: generateFraudExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := required(c, "out"); err != nil {
				return err
			}
			report, err := world.GenerateFraud(c.Context(), o, a.Progress())
			if err != nil {
				return err
			}
			return a.Print(report)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Rows, "rows", o.Rows, "number of transactions")
	f.StringVar(&o.World, "world", o.World, strings.Join(world.FraudWorlds(), " or "))
	f.Uint64Var(&o.Seed, "seed", o.Seed, "another seed gives other rows of the same distribution")
	f.IntVar(&o.Columns, "columns", o.Columns, "columns of the transaction file: 394, or 55 (without the V columns)")
	f.Float64Var(&o.FraudRate, "fraud-rate", o.FraudRate, "share of fraud in every cell")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the two files")
	return c
}

const generatePagesText = `Pages writes a synthetic text corpus in the format of FEVER's wiki-pages, 50,000 pages per file. The words are random
strings whose frequencies follow Zipf's law; a page has 63 words on average.`

const generatePagesExamples = `  pipe generate pages --pages 500000 --seed 1 --out out/pages`

func generatePagesCommand(a *app) *cobra.Command {
	o := world.DefaultPagesOptions()
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
			report, err := world.GeneratePages(c.Context(), o, a.Progress())
			if err != nil {
				return err
			}
			return a.Print(report)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Pages, "pages", o.Pages, "number of pages")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "another seed gives other pages of the same distribution")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the files")
	return c
}
