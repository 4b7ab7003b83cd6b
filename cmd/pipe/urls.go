package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// resolveURLs gives every flag and argument that is a URL of a file the form that the stages use.
func resolveURLs(c *cobra.Command, args []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name != "query" { // which is any text
			err = resolveFlag(c, f)
		}
	})
	for i, arg := range args {
		if err != nil {
			return err
		}
		args[i], err = storage.Path(arg)
	}
	return err
}

func resolveFlag(c *cobra.Command, f *pflag.Flag) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values := list.GetSlice()
		before := slices.Clone(values)
		for i := range values {
			var err error
			if values[i], err = storage.Path(values[i]); err != nil {
				return err
			}
		}
		if slices.Equal(before, values) {
			return nil
		}
		if err := refuseRemote(c, f, values); err != nil {
			return err
		}
		return list.Replace(values)
	}
	if f.Value.Type() != "string" {
		return nil
	}
	value, err := storage.Path(f.Value.String())
	if err != nil || value == f.Value.String() {
		return err
	}
	if err := refuseRemote(c, f, []string{value}); err != nil {
		return err
	}
	return f.Value.Set(value)
}

func refuseRemote(c *cobra.Command, f *pflag.Flag, values []string) error {
	for _, key := range []string{c.Name() + " --" + f.Name, "--" + f.Name} {
		why, known := onDisk[key]
		if known && slices.ContainsFunc(values, storage.IsRemote) {
			return usage(c, "--%s must be on a local disk: %s", f.Name, why)
		}
	}
	return nil
}
