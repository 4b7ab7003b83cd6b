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

var usage, noArgs = cli.Usage[*cobra.Command], cli.NoArgs[*cobra.Command]
