package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(c, "unexpected argument %q", args[0])
	}
	return nil
}

// oneArg wants exactly one argument, described by what.
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

// oneOf checks a flag against the values it can take.
func oneOf(c *cobra.Command, flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usage(c, "--%s %q: known are %s", flag, value, strings.Join(known, ", "))
}
