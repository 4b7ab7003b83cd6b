package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/imports"
)

// logFlags are the flags of an import of a decision log.
func logFlags(f *pflag.FlagSet, o *fromlog.Options, texts *storage.Location) {
	*o = fromlog.DefaultOptions()
	cli.LocationVar(f, &o.Log, "log", "instead: the folder of a decision log; --out gets the instances with the outcome of every pair")
	cli.LocationVar(f, &o.Partial, "partial", "with --log: the Parquet file for the instances with unknown outcomes")
	cli.LocationVar(f, &o.DSJSON, "dsjson", "with --log: the file for decisions with outcomes as Vowpal Wabbit reads them")
	cli.LocationVar(f, &o.OBP, "obp", "with --log: the .npz or .json file for the same as Open Bandit Pipeline takes them")
	f.StringVar(&o.Policy, "policy", "", "with --log: only decisions of this policy, NAME or NAME@DIGEST, with its own probabilities and at its prices")
	f.BoolVar(&o.Fallbacks, "fallbacks", false, "with --dsjson and --obp: keep decisions that another pair answered; their cost is that of choosing the pair, fallback included")
	timeFlag(f, "since", "with --log: only decisions from this `time` on, such as 2026-01-31 or 2026-01-31T12:00:00Z; days are UTC", &o.Since)
	timeFlag(f, "until", "with --log: only decisions before this `time`", &o.Until)
	f.StringVar(&o.Money, "money", "", "with --log: what a loss of 1 is worth, `CURRENCY=VALUE`, for measured fees; default: what the policy's tensor says, if it had such")
	f.BoolVar(&o.NoFees, "no-fees", false, "with --log: no measured fees, although the policy learned from such")
	cli.LocationVar(f, texts, "texts", "with --log: the folder of the texts of decisions (log.texts of pipe serve); --encoder makes the features anew from them")
	f.StringVar(&o.Same, "same", o.Same, "with --log: decisions with equal features are one instance if they have the same request, or whatever the request (features)")
}

// onlyLog are the flags that need --log.
var onlyLog = []string{"partial", "dsjson", "obp", "policy", "fallbacks", "since", "until", "same", "money", "no-fees", "texts"}

// timeFlag adds a flag that takes a day, or a time as tables of outcomes have it.
func timeFlag(f *pflag.FlagSet, name, text string, to *time.Time) {
	f.Func(name, text, func(value string) error {
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			*to = day
			return nil
		}
		micros, err := costs.ParseTime(value)
		if err != nil {
			return errors.New("it is not a day such as 2026-01-31, or a time with a zone such as 2026-01-31T12:00:00Z")
		}
		*to = time.UnixMicro(micros).UTC()
		return nil
	})
}

// runImportLog imports a decision log.
func runImportLog(c *cobra.Command, a *app, o fromlog.Options, out, texts storage.Location, encoder string) error {
	var other string
	c.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "config", "preset", "in", "prices", "explain", "answers", "budget", "append", "keep-same", "fees", "new-categories":
			other = f.Name
		}
	})
	if other != "" {
		return usage(c, "--%s does not go with --log", other)
	}
	if texts.IsZero() != (encoder == "") {
		return usage(c, "--log takes --texts and --encoder together: the features are made anew from texts, by an encoder")
	}
	if err := oneOf(c, "same", o.Same, fromlog.SameRequest, fromlog.SameFeatures); err != nil {
		return err
	}
	o.Out = out
	r, err := imports.Log(c.Context(), o, texts, encoder, a.runtime)
	if err != nil {
		return err
	}
	return a.Print(r)
}
