package main

import (
	"github.com/spf13/cobra"

	"pipe/costs"
	"pipe/onnx/ort"
	"pipe/pipeline"
)

const decideText = `Decide reads features and writes, for every row, the action that the policy chooses: the names and indices of
expert and advice, and with --scores the score of every pair. Rows stream through in batches of some thousands: memory
stays flat.

Features come as Parquet (columns id and features, as in a cost tensor), CSV (a header; column id, every other column
a feature: by name if the policy knows the names of its features, else in their order) or JSONL ({"id": "a",
"features": [0.1, 2]}), the last two also gzipped. With --encoder, rows are raw: CSV with the columns of the files
that pipe featurize read, in any order. With --text or --image as well, rows are CSV or JSONL with a column or field
of texts, or of paths of images relative to the file's folder, and the encoder is one of these as for pipe convert; a
policy that pipe convert --merge put behind an encoder needs no --encoder. Ids are passed on as they are, also when
one comes twice; rows without them are counted from 0. --without takes an expert or an advice out of the choice; the
best remaining pair is taken then.`

const decideExamples = `  pipe decide --policy policy.onnx --in costs.parquet --out decisions.parquet
  pipe decide --policy policy.onnx --in rows.csv --without expert=large --without advice=search
  pipe decide --policy policy.onnx --in rows.jsonl.gz --json
  pipe decide --policy policy.onnx --encoder encoder.json --in transactions.csv --out decisions.csv
  pipe decide --policy policy.onnx --encoder encoder.onnx --in claims.jsonl --text claim
  pipe decide --policy policy.onnx --encoder encoder.onnx --in photos.csv --image file --decoder auto
  pipe decide --policy merged.onnx --in claims.jsonl --text claim
  head -n 1000 rows.jsonl | pipe decide --policy policy.onnx --scores`

func decideCommand(a *app) *cobra.Command {
	o := pipeline.DefaultDecideOptions()
	c := &cobra.Command{
		Use:     "decide --policy FILE",
		Short:   "Choose expert and advice for every row of a file",
		Long:    decideText,
		Example: decideExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDecide(c, a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.Policy, "policy", "", "the policy file")
	f.StringVar(&o.In, "in", o.In, "features: a file, a folder of Parquet parts, or - for standard input")
	f.StringVar(&o.Encoder, "encoder", "", "encoder.json of the table that the policy was trained on, or with --text or --image an encoder of these: rows are raw then")
	f.StringVar(&o.Text, "text", "", "with --encoder, or an encoder in front of the policy: the column or field that holds the text")
	f.StringVar(&o.Image, "image", "", "likewise the column or field that holds the path of an image")
	f.StringVar(&o.Decoder, "decoder", "", "of images: standard, libjpeg-turbo, or auto, which is libjpeg-turbo if it is there (standard)")
	f.StringVar(&o.InFormat, "format", o.InFormat, "format of the features: auto, parquet, csv or jsonl")
	f.StringVarP(&o.Out, "out", "o", o.Out, "decisions: a file, or - for standard output")
	f.StringVar(&o.OutFormat, "out-format", o.OutFormat, "format of the decisions: auto (by extension, else csv), parquet, csv or jsonl")
	f.StringArrayVar(&o.Without, "without", nil, "expert=NAME or advice=NAME that must not be chosen; may be repeated")
	f.BoolVar(&o.Scores, "scores", false, "write the score of every pair")
	f.IntVar(&o.Workers, "workers", o.Workers, "batches decided side by side")
	return c
}

func runDecide(c *cobra.Command, a *app, o pipeline.DecideOptions) error {
	if err := required(c, "policy"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	if a.json && o.Out == "-" && o.OutFormat == "auto" {
		o.OutFormat = "jsonl"
	}
	cfg := a.runtime()
	if a.threads == 0 {
		cfg.Threads = 1 // batches run side by side instead
	}
	rt, err := ort.Open(cfg)
	if err != nil {
		return err
	}
	defer rt.Close()
	done, err := pipeline.Decide(c.Context(), rt, o, a.stdin, a.stdout, a.progress())
	if err != nil {
		return err
	}
	if n := len(done.Absent); n > 0 {
		a.say("note: %d columns that the policy sees are not in the file and count as missing, such as %s", n, done.Absent[0])
	}
	if done.Decoder != "" {
		a.say("images decoded by %s", done.Decoder)
	}
	if done.Trained != "" {
		a.say("note: the policy was trained on images decoded by %s, which can give other pixels: see --decoder", done.Trained)
	}
	if len(done.ChangedFees) > 0 {
		a.say("note: the policy was trained with other fees than the input says, and chooses by its own: %s", costs.ListFees(done.ChangedFees))
	}
	a.say("decided %d rows in %.2f s (%.0f rows/s)", done.Rows, done.Seconds, float64(done.Rows)/done.Seconds)
	if a.json && o.Out != "-" {
		return a.printJSON(done)
	}
	return nil
}
