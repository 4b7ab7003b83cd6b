package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is an error in the command line.
type usageError struct{ msg, help string }

func (e *usageError) Error() string { return e.msg }
func (e *usageError) Hint() string  { return "see " + e.help + " --help" }

func usage(c *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), c.CommandPath()}
}

// required is a usage error that names required flags without a value.
func required(c *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if c.Flag(name).Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage(c, "%s needs a value", strings.Join(missing, " and "))
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(c, "unexpected argument %q", args[0])
	}
	return nil
}
