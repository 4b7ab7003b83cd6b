package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/stage"
)

const countText = `Count writes how many lines a file has.`

const countExamples = `  pipe count rows.csv --out lines.txt`

func countCommand(a *app) *cobra.Command {
	var out storage.Location
	c := &cobra.Command{
		Use:     "count FILE --out FILE",
		Short:   "Count the lines of a file",
		Long:    countText,
		Example: countExamples,
		Args:    oneArg("one file"),
		RunE:    func(c *cobra.Command, args []string) error { return runCount(c, a, cli.Locations(args)[0], out) },
	}
	cli.LocationVarP(c.Flags(), &out, "out", "o", "the file with the number")
	return c
}

func runCount(c *cobra.Command, a *app, in, out storage.Location) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	f := stage.Files{Reads: []stage.Input{{Path: in}}, Writes: []stage.Output{{Path: out}}}
	if err := f.Check(c.Context()); err != nil {
		return err
	}
	text, err := textfile.ReadFileAt(c.Context(), in, textfile.MaxWhole)
	if err != nil {
		return err
	}
	a.Say("counting %s", in)
	return atomicfile.WriteAt(c.Context(), out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, bytes.Count(text, []byte("\n")))
		return err
	})
}
