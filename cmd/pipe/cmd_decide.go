package main

import (
	"errors"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/play"
	"pipe/pipeline/shards"
)

const decideText = `Decide chooses an action for every row: the names and indices of the expert and the advice, and with --scores the score of
every pair. Rows are streamed in batches, so memory does not grow with the input.

Features are read from
  Parquet  columns id and features, as in a cost tensor
  CSV      a header, column id, every other column a feature: by name if the policy has feature names, else in order
  JSONL    {"id": "a", "features": [0.1, 2]}
CSV and JSONL may be gzipped. Ids are copied to the output, duplicates included. Rows without ids are numbered from 0.

With --encoder encoder.json, rows are raw: CSV with the columns that pipe featurize read, in any order.

With --text or --image, rows are CSV or JSONL, and the flag names the column or field with the text, or with the image's
path relative to the file's folder. --encoder is then an encoder as pipe convert takes it. A policy that pipe convert
--merge put behind an encoder needs no --encoder.

--without removes an expert, an advice or a pair from the choice; the best remaining pair is taken.

An any-price policy (pipe train --any-price) decides at the prices that it was trained with, or at others: --lambda sets the
multiplier of the fees of advice, and --fee the fee of an expert or, before lambda, of an advice. One that was trained on a
table with usage (tokens, calls, seconds) also takes --prices: a price file of models, at whose last prices it decides.
The decisions have the expected loss of the chosen pair and its expected cost, which is the loss plus the fees. A note
names prices outside of those that the policy was checked on.

A cascade (pipe train --cascade) is played through a cost tensor that has what can be seen of the answers, as pipe costs and
pipe import write it: it executes a pair, looks at that answer, and accepts it or executes another one. Every row gets the
executed pairs in their order, the accepted pair, its expected loss, and all fees that were paid. An any-price cascade (pipe
train --cascade --any-price) takes --lambda and --fee too, and pays these fees. --without leaves pairs out of either.

Several machines can share the rows (docs/scale.md): --shards N --shard I decides on one of N ranges of them, and --gather
writes the file that one run writes, byte for byte, or with --parts a folder with a file of every shard. Gzipped text and
standard input cannot be cut.`

const decideExamples = `  pipe decide --policy policy.onnx --in costs.parquet --out decisions.parquet
  pipe decide --policy policy.onnx --in rows.csv --without expert=large --without advice=search
  pipe decide --policy anyprice.onnx --in rows.csv --lambda 0.5 --fee expert=large:0.02 --fee advice=search:0.1
  pipe decide --policy policy.onnx --in rows.jsonl.gz --json
  pipe decide --policy policy.onnx --encoder encoder.json --in transactions.csv --out decisions.csv
  pipe decide --policy policy.onnx --encoder encoder.onnx --in claims.jsonl --text claim
  pipe decide --policy policy.onnx --encoder encoder.onnx --in photos.csv --image file --decoder auto
  pipe decide --policy merged.onnx --in claims.jsonl --text claim
  pipe decide --policy cascade-lambda1.onnx --in costs.parquet --out played.csv
  pipe decide --policy cascade-any-price.onnx --in costs.parquet --fee expert=large:0.02 --out played.csv
  head -n 1000 rows.jsonl | pipe decide --policy policy.onnx --scores
  pipe decide --policy policy.onnx --in archive.parquet --out decisions.parquet --shards 40 --shard 7
  pipe decide --policy policy.onnx --in archive.parquet --out decisions.parquet --gather`

func decideCommand(a *app) *cobra.Command {
	o := decide.DefaultStreamOptions()
	var parts bool
	var s shardFlags
	c := &cobra.Command{
		Use:     "decide --policy FILE",
		Short:   "Choose an expert and an advice for every row of a file",
		Long:    decideText,
		Example: decideExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.on() || parts {
				return shardDecide(c, a, &s, decide.ShardOptions{StreamOptions: o, Parts: parts})
			}
			return runDecide(c, a, o)
		},
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Policy, "policy", "the policy file")
	cli.LocationVar(f, &o.In, "in", "features: a file, a folder of Parquet parts, or - for standard input")
	f.StringVar(&o.Encoder, "encoder", "", "encoder of raw rows: encoder.json, or with --text or --image an encoder of those")
	f.StringVar(&o.Text, "text", "", "column or field with the text, for an encoder of texts")
	f.StringVar(&o.Image, "image", "", "column or field with the path of an image, for an encoder of images")
	f.StringVar(&o.Decoder, "decoder", "", "JPEG decoder: standard, libjpeg-turbo, or auto for libjpeg-turbo if it is installed (default standard)")
	f.StringVar(&o.InFormat, "format", o.InFormat, "format of the features: auto, parquet, csv or jsonl")
	cli.LocationVarP(f, &o.Out, "out", "o", "decisions: a file, or - for standard output")
	f.StringVar(&o.OutFormat, "out-format", o.OutFormat, "format of the decisions: auto (by file name, else csv), parquet, csv or jsonl")
	priceFlags(f, &o.Prices, &o.PriceFile)
	f.BoolVar(&o.Scores, "scores", false, "also write the score of every pair, and of a policy by estimates their expected loss and cost")
	f.IntVar(&o.Workers, "workers", o.Workers, "batches decided in parallel")
	s.add(f)
	f.BoolVar(&parts, "parts", false, "with shards: --out is a folder that gets a file of every shard")
	return c
}

// shardDecide decides on shards of the rows.
func shardDecide(c *cobra.Command, a *app, s *shardFlags, o decide.ShardOptions) error {
	if !s.list {
		if err := required(c, "policy"); err != nil {
			return err
		}
	}
	s.report = func(report any) error { return tellAll(a, report.(*decide.Summary), o.Out.String()) }
	return s.run(c, a, o.Out, func(n int, _ shards.Options) (_, _ shards.Stage, err error) {
		o.Shards = n
		if err := o.Validate(); err != nil {
			return nil, nil, usage(c, "%v", err)
		}
		rt, err := decideRuntime(a)
		if err != nil {
			return nil, nil, err
		}
		stage, err := decide.OpenShards(c.Context(), rt, o, a.Stdout, a.Progress())
		if err != nil {
			return nil, nil, errors.Join(err, rt.Close())
		}
		return nil, withRuntime{stage, rt}, nil
	})
}

// withRuntime closes the runtime of a stage with it.
type withRuntime struct {
	shards.Stage
	rt *ort.Runtime
}

// Close frees both.
func (s withRuntime) Close() error { return errors.Join(s.Stage.Close(), s.rt.Close()) }

func decideRuntime(a *app) (*ort.Runtime, error) {
	cfg := a.runtime
	if a.runtime.Threads == 0 {
		cfg.Threads = 1 // batches run in parallel instead
	}
	return ort.Open(cfg)
}

func runDecide(c *cobra.Command, a *app, o decide.StreamOptions) error {
	if err := required(c, "policy"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	if a.JSON && o.Out.String() == "-" && o.OutFormat == "auto" {
		o.OutFormat = "jsonl"
	}
	rt, err := decideRuntime(a)
	if err != nil {
		return err
	}
	defer rt.Close()
	done, err := decide.Stream(c.Context(), rt, o, a.Stdin, a.Stdout, a.Progress())
	if _, ok := errors.AsType[*policy.CascadeError](err); ok {
		return playCascade(c, a, rt, o)
	}
	if err != nil {
		return err
	}
	return tellAll(a, done, o.Out.String())
}

// playCascade plays a cascade through a table.
func playCascade(c *cobra.Command, a *app, rt *ort.Runtime, o decide.StreamOptions) error {
	done, err := play.Stream(c.Context(), rt, o, a.Stdout, a.Progress())
	if err != nil {
		return err
	}
	if done.Unseen > 0 {
		a.Say("note: on %d rows nothing that the cascade looks at is known of the answer of an executed pair; it went on without it", done.Unseen)
	}
	if len(done.ChangedFees) > 0 {
		note := "the fees of the table differ from those that the cascade was trained with; it decides by its own, and those of the table are paid"
		if done.Prices != nil {
			note = "the fees of the table differ from those that the cascade decides by; its own are paid"
		}
		a.Say("note: %s: %s", note, costs.ListFees(done.ChangedFees))
	}
	tellPrices(a, done.Prices)
	a.Say("played %d rows in %.2f s (%.0f rows/s)", done.Rows, done.Seconds, float64(done.Rows)/done.Seconds)
	if a.JSON && o.Out.String() != "-" {
		return a.Print(done)
	}
	return nil
}

// tellAll writes what a run did: notes, and with --json the summary, unless the decisions are on standard output.
func tellAll(a *app, done *decide.Summary, out string) error {
	tellDecided(a, done)
	a.Say("decided %d rows in %.2f s (%.0f rows/s)", done.Rows, done.Seconds, float64(done.Rows)/done.Seconds)
	if a.JSON && out != "-" {
		return a.Print(done)
	}
	return nil
}

// tellDecided writes the notes on a run.
func tellDecided(a *app, done *decide.Summary) {
	if n := len(done.Absent); n > 0 {
		a.Say("note: %d columns that the policy uses are not in the file and count as missing, such as %s", n, done.Absent[0])
	}
	if done.Decoder != "" {
		a.Say("images decoded by %s", done.Decoder)
	}
	if done.Trained != "" {
		a.Say("note: the policy was trained on images decoded by %s, which can give slightly different pixels: see --decoder", done.Trained)
	}
	if len(done.ChangedFees) > 0 {
		a.Say("note: the fees of the input differ from those that the policy was trained with; the policy uses its own: %s", costs.ListFees(done.ChangedFees))
	}
	tellPrices(a, done.Prices)
}

// tellPrices notes prices that a policy or a cascade was not checked on, or that change nothing; nil: it has fixed prices.
func tellPrices(a *app, p *decide.UsedPrices) {
	if p != nil && p.Caution() != "" {
		a.Say("note: %s", p.Caution())
	}
}
