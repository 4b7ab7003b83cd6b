package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/costs"
	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/policy"
)

// budgetFlag adds the flag of commands that may call paid chat models. Without it there is no limit.
func budgetFlag(f *pflag.FlagSet, to **chat.Budget) {
	f.Func("budget", "most `money` to spend on chat models in this run (default: no limit)", func(text string) error {
		limit, err := textfile.ParseNumber(text)
		if err != nil {
			return errors.New("it is not a number")
		}
		*to, err = chat.NewBudget(limit)
		return err
	})
}

// priceFlags adds the flags of commands that change the prices of a policy.
func priceFlags(f *pflag.FlagSet, to *policy.PriceChange, file *storage.Location) {
	cli.LocationVar(f, file, "prices", "any-price policy with usage: price file of models, YAML or JSON, whose last prices of tokens, calls and time hold (default: as in training)")
	f.Func("lambda", "any-price policy or cascade: the `multiplier` of the fees of advice (default: as in training)", func(text string) error {
		v, err := textfile.ParseNumber(text)
		if err != nil || !costs.UsableLambda(v) {
			return fmt.Errorf("it is not a number from 0 to %g", costs.MaxLambda)
		}
		to.Lambda = &v
		return nil
	})
	f.Func("fee", "any-price policy or cascade: `expert=NAME:FEE` or advice=NAME:FEE, in the unit of the costs configuration, so before lambda; may be repeated", func(text string) error {
		fee, err := policy.ParseFee(text)
		to.Fees = append(to.Fees, fee)
		return err
	})
	f.Func("without", "never choose this `expert=NAME`, advice=NAME or pair=EXPERT/ADVICE; may be repeated", func(text string) error {
		part, err := policy.ParsePart(text)
		to.Without = append(to.Without, part)
		return err
	})
}

func skipBadFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "skip-bad", false, "leave out and list images that cannot be read, instead of stopping")
}

// required is a usage error that names required flags without a value.
func required(c *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if f := c.Flag(name); f == nil || f.Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage(c, "%s needs a value", strings.Join(missing, " and "))
}

// oneArg requires exactly one argument, described by what.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(c, "needs %s, got %d arguments", what, len(args))
		}
		return nil
	}
}

func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(c, "needs %s", what)
		}
		return nil
	}
}

// oneOf checks a flag against its possible values.
func oneOf(c *cobra.Command, flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usage(c, "--%s %q: known are %s", flag, value, strings.Join(known, ", "))
}
