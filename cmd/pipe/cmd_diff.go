package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/costs/grow"
	"pipe/pipeline/compare"
	"pipe/pipeline/exitcode"
)

const diffText = `Diff compares two cost tensors: experts, advice and fees, features, where they come from, and every value of the rows
that both have. Rows are matched by id, pairs by name. For each pair it prints the mean loss in both tensors.

The exit code is 0 if the tensors are equal and 1 if they differ. A tensor that cannot be read has exit code 3, a mistake on
the command line 2. --ignore leaves aspects out of the verdict: actions, fees, features, columns, provenance, metadata, rows,
order, values.`

const diffExamples = `  pipe diff old.parquet new.parquet
  pipe diff old.parquet new.parquet --ignore provenance,rows
  pipe diff old.parquet new.parquet --json`

func diffCommand(a *app) *cobra.Command {
	var ignore []string
	c := &cobra.Command{
		Use:     "diff FILE FILE",
		Short:   "List what differs between two cost tensors",
		Long:    diffText,
		Example: diffExamples,
		RunE:    func(c *cobra.Command, args []string) error { return runDiff(c, a, args, ignore) },
	}
	c.Flags().StringSliceVar(&ignore, "ignore", nil, "`aspects` that do not count as differences, separated by commas")
	return c
}

func runDiff(c *cobra.Command, a *app, files, ignore []string) error {
	if len(files) != 2 {
		return usage(c, "needs two tensors, got %d arguments", len(files))
	}
	for _, aspect := range ignore {
		if err := oneOf(c, "ignore", aspect, grow.Aspects()...); err != nil {
			return err
		}
	}
	defer a.Progress().Done()
	tensors := cli.Locations(files)
	r, err := compare.Diff(c.Context(), tensors[0], tensors[1], ignore, a.Progress())
	if err != nil {
		return err
	}
	if err := a.Print(r); err != nil {
		return err
	}
	if r.Verdict() != nil { // as diff and cmp do
		return &cli.Finding{Code: exitcode.Failure}
	}
	return nil
}
