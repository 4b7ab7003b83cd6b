package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/internal/storage"
)

// onDisk lists what must be on a local disk, and why: flags of commands, and where a command works in a folder.
var onDisk = map[string]string{
	"bench --out":      "a benchmark works in this folder",
	"costs --answers":  "answers are appended one by one",
	"costs --base":     "its work folder is read",
	"import --answers": "answers are appended one by one",
	"import --log":     "the log of a server is a local folder",
	"serve --log":      "the log is appended to",
	"serve --policy":   "the server watches these files",
	"serve --config":   "the server reads it again while it runs",
	"serve --tls-cert": "the server reads it again while it runs",
	"serve --tls-key":  "it is a secret",
	"--runtime":        "it is a shared library",
}

// texts are flags for names and other texts, which may look like a URL and are none.
var texts = []string{"query", "text", "image", "text-column", "id-column", "feature-name", "today", "money", "tables", "server"}

// parseLocations parses every path and URL of the command line.
func parseLocations(c *cobra.Command, args []string) error {
	_, err := cli.ParseLocations(c.Flags(), args, func(f *pflag.Flag, at storage.Location) error {
		for _, key := range []string{c.Name() + " --" + f.Name, "--" + f.Name} {
			if why, known := onDisk[key]; known && at.IsRemote() {
				return usage(c, "--%s must be on a local disk: %s", f.Name, why)
			}
		}
		return nil
	}, texts...)
	return err
}
