package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/storage"
	"pipe/pipeline/decide"
)

const decideText = `Decide chooses an expert and an advice for every row of an archive, as pipe decide does. A shard is a range of rows.`

func decideCommand(a *app) *cobra.Command {
	o := job.Decide{ShardOptions: decide.ShardOptions{StreamOptions: decide.DefaultStreamOptions()}}
	o.In, o.Out = storage.Location{}, storage.Location{}
	c := &cobra.Command{
		Use: "decide --policy FILE --in FILE --out FILE --shards N", Short: "Choose an expert and an advice for every row", Long: decideText, Args: noArgs,
		Example: "  pipe-beam decide --policy policy.onnx --in s3://data/archive.parquet --out s3://data/decisions --parts --work s3://data/work --shards 400 --runner flink --endpoint flink:8099",
		RunE:    func(c *cobra.Command, _ []string) error { return runDecide(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Policy, "policy", "the policy file")
	cli.LocationVar(f, &o.In, "in", "features: a file or a folder of Parquet parts")
	f.StringVar(&o.Encoder, "encoder", "", "encoder of raw rows: encoder.json, or with --text or --image an encoder of those")
	f.StringVar(&o.Text, "text", "", "column or field with the text, for an encoder of texts")
	f.StringVar(&o.Image, "image", "", "column or field with the path of an image, for an encoder of images")
	cli.LocationVarP(f, &o.Out, "out", "o", "decisions: a file, or with --parts a folder")
	f.StringVar(&o.OutFormat, "out-format", o.OutFormat, "format of the decisions: auto (by file name, else csv), parquet, csv or jsonl")
	f.BoolVar(&o.Scores, "scores", false, "also write the score of every pair")
	f.BoolVar(&o.Parts, "parts", false, "--out is a folder that gets a file of every shard")
	return c
}

func runDecide(c *cobra.Command, a *app, o job.Decide) error {
	if err := required(c, "policy", "in", "out"); err != nil {
		return err
	}
	if err := absolute(&o.Policy, &o.In, &o.Out); err != nil {
		return err
	}
	if o.Encoder != "" && !storage.IsURL(o.Encoder) {
		path, err := filepath.Abs(o.Encoder)
		if err != nil {
			return fmt.Errorf("path %q: %w", o.Encoder, err)
		}
		o.Encoder = path
	}
	if err := a.cut(c, o.Out); err != nil {
		return err
	}
	o.Shards, o.Runtime = a.shards, a.runtime
	if o.Runtime.Threads == 0 {
		o.Runtime.Threads = 1 // batches run in parallel instead
	}
	return a.run(c, []string{"decide"}, o)
}
