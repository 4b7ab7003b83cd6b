package main

import (
	"time"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/onnx/ort"
)

// patience is how long commands may take to stop after a signal. One that needs longer, such as a server that answers what
// it has begun, says so.
const patience = 2 * time.Second

// app is the state that all commands share.
type app struct {
	*cli.Program
	runtime ort.Config // that the flags ask for
}

var usage = cli.Usage[*cobra.Command]

// noArgs refuses arguments. A file that stands where a flag is needed is the usual mistake.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 1 && c.Name() == "import":
		return usage(c, "unexpected argument %q: pipe init %s writes the file that --config needs", args[0], args[0])
	case len(args) == 1 && c.Flags().Lookup("in") != nil && !c.Flags().Changed("in"):
		return usage(c, "unexpected argument %q: write --in %s", args[0], args[0])
	}
	return cli.NoArgs(c, args)
}
