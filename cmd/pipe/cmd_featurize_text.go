package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/pipeline/features"
)

// textFlags are the flags of featurize --text, besides --in, --out and --seed.
type textFlags struct{ features.TextOptions }

// The flags of the other form of featurize, which --text excludes, and those that need it.
var (
	tableOnly = []string{"columns", "join", "split-kind", "validation", "train-rows", "validation-rows", "phase", "shards", "shard", "gather", "list", "restart", "work", "lease", "tries"}
	textOnly  = []string{"dim", "facts", "max-length", "min-texts"}
)

func (t *textFlags) add(f *pflag.FlagSet) {
	t.TextOptions = features.DefaultTextOptions()
	f.StringVar(&t.Column, "text", "", "fit an encoder to the texts of this column of --in")
	f.IntVar(&t.Lexical.Dim, "dim", t.Lexical.Dim, "with --text: components, the length of a vector")
	f.BoolVar(&t.Lexical.Facts, "facts", false, "with --text: vectors also have counts of a text: its length, and shares of digits, punctuation and other scripts")
	f.IntVar(&t.Lexical.MinTexts, "min-texts", t.Lexical.MinTexts, "with --text: least number of texts with a word or n-gram that counts")
	f.IntVar(&t.Lexical.MaxLength, "max-length", t.Lexical.MaxLength, "with --text: most tokens of a text; longer texts are cut")
}

// firstSet returns the first of the flags that the command line has.
func firstSet(c *cobra.Command, names []string) string {
	for _, name := range names {
		if f := c.Flag(name); f != nil && f.Changed {
			return name
		}
	}
	return ""
}

func runFeaturizeText(c *cobra.Command, a *app, t *textFlags, from features.Options) error {
	if name := firstSet(c, tableOnly); name != "" {
		return usage(c, "--text has no use for --%s", name)
	}
	if err := required(c, "text", "in", "out"); err != nil {
		return err
	}
	o := t.TextOptions
	o.In, o.Out, o.Lexical.Seed = from.Primary, from.Out, from.Split.Seed
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := features.RunTexts(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	a.Say("encoder in %s", o.Out)
	return a.Print(r)
}
