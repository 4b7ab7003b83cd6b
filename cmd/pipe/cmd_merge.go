package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/costs/grow"
	"pipe/pipeline/merge"
)

const mergeText = `Merge joins cost tensors into one. Files with the same experts and advice are joined row by row: the rows of the first
file, then those of the second. Files with other experts or advice for the same rows are joined side by side. The files
say which it is; --mode forces it.

Experts, advice, features and columns must be equal; the first difference is an error that says what to do. Fees must be
equal, or be set with --fee or --fees. Splits are kept. The report counts the groups that are in more than one split.
The names and digests of the files are recorded in the result; docs/growing.md has more.`

const mergeExamples = `  pipe merge january.parquet february.parquet --out costs.parquet
  pipe merge costs.parquet new-expert.parquet --out both.parquet
  pipe merge old.parquet new.parquet --keep-same --fee expert=large:0.08 --out costs.parquet
  pipe merge a.parquet b.parquet --drop label,prediction --out c.parquet --json`

func mergeCommand(a *app) *cobra.Command {
	var o merge.Options
	var fees []string
	c := &cobra.Command{
		Use:     "merge FILE FILE... --out FILE",
		Short:   "Join cost tensors row by row, or side by side",
		Long:    mergeText,
		Example: mergeExamples,
		RunE: func(c *cobra.Command, args []string) error {
			o.Files = cli.Locations(args)
			return runMerge(c, a, o, fees)
		},
	}
	f := c.Flags()
	cli.LocationVarP(f, &o.Out, "out", "o", "the Parquet file to write")
	f.StringVar(&o.Mode, "mode", "", "rows (row by row) or pairs (side by side); default: found from the files")
	f.BoolVar(&o.KeepSame, "keep-same", false, "keep one of two rows with the same id and equal content; other repeated ids are errors")
	f.StringArrayVar(&fees, "fee", nil, "fee of the result, `expert=NAME:FEE` or advice=NAME:FEE; may be repeated")
	cli.LocationVar(f, &o.FeeFile, "fees", "JSON file with fees of the result, as in pipe import; --fee takes precedence")
	f.StringSliceVar(&o.Drop, "drop", nil, "what the result does not get although a file has it, `names` separated by commas: group, time, label, fee, prediction, observed_NAME, pipe.money, pipe.prices")
	f.BoolVar(&o.FillFee, "fill-fee", false, "where experts or advice differ: take 0 as the measured fee in files without the column fee")
	f.BoolVar(&o.FillGroup, "fill-group", false, "put each row of files without the column group into a group by itself")
	timeFlag(f, "fill-time", "the `time`, such as 2026-01-31 (UTC), of rows of files without the column time", &o.FillTime)
	f.StringVar(&o.FeatureName, "feature-name", "", "name of the features in the result; default: that of the files, which must be equal")
	return c
}

func runMerge(c *cobra.Command, a *app, o merge.Options, fees []string) error {
	if len(o.Files) < 2 {
		return usage(c, "needs at least two tensors, got %d", len(o.Files))
	}
	if err := required(c, "out"); err != nil {
		return err
	}
	if o.Mode != "" {
		if err := oneOf(c, "mode", o.Mode, grow.Rows, grow.Pairs); err != nil {
			return err
		}
	}
	for _, column := range o.Drop {
		if err := grow.CheckDrop(column); err != nil {
			return usage(c, "--drop: %v", err)
		}
	}
	for _, text := range fees {
		if err := o.Fees.Set(text); err != nil {
			return usage(c, "%v", err)
		}
	}
	defer a.Progress().Done()
	r, err := merge.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	return a.Print(r)
}
