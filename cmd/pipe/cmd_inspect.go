package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/inspect"
)

const inspectText = `Inspect explains files:
  cost tensor  actions, fees, splits, mean cost of every pair, best fixed pair, oracle, and the head-room between them
  policy       its metadata, and a plain description of what it does; also by the JSON file beside it, which must match
  decision log its folder: policies, pairs, exploration, expected and measured cost, saving
  index        settings and size; every byte is checked against its checksum
  cascade      what it looks at, which pairs come first, and when it goes on
It also explains trained experts, tables and encoders of pipe featurize, encoders of pipe convert, and training checkpoints.`

const inspectExamples = `  pipe inspect costs.parquet --lambda 0,0.5,1
  pipe inspect policy.onnx
  pipe inspect table.parquet encoder.json experts/tree.onnx
  pipe inspect wiki.bm25 --query 'a claim to find pages for'
  pipe inspect log
  pipe inspect policy.onnx costs.parquet --json`

func inspectCommand(a *app) *cobra.Command {
	o := inspect.DefaultOptions()
	c := &cobra.Command{
		Use:     "inspect FILE...",
		Short:   "Explain cost tensors, tables, logs, encoders, experts, policies, indexes and checkpoints",
		Long:    inspectText,
		Example: inspectExamples,
		Args:    someArgs("at least one file"),
		RunE:    func(c *cobra.Command, args []string) error { return runInspect(c, a, o, args) },
	}
	c.Flags().Float64SliceVar(&o.Lambdas, "lambda", o.Lambdas, "values of lambda for the summary of a tensor")
	cli.LocationVar(c.Flags(), &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	c.Flags().StringArrayVar(&o.Queries, "query", nil, "search an index for this; may be repeated")
	return c
}

func runInspect(c *cobra.Command, a *app, o inspect.Options, paths []string) error {
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	var all []inspect.Explanation
	p := a.Progress()
	defer p.Done()
	for _, path := range cli.Locations(paths) {
		p.Start(-1, "inspect "+path.String())
		e, err := inspect.File(c.Context(), path, o)
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	p.Done()
	if a.JSON && len(all) > 1 {
		return a.Print(all)
	}
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		if err := a.Print(e); err != nil {
			return err
		}
	}
	return nil
}
