package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pipe/internal/atomicfile"
	"pipe/pipeline/stage"
)

const countText = `Count writes how many lines a file has.`

const countExamples = `  pipe count rows.csv --out lines.txt`

func countCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "count FILE --out FILE",
		Short:   "Count the lines of a file",
		Long:    countText,
		Example: countExamples,
		Args:    oneArg("one file"),
		RunE:    func(c *cobra.Command, args []string) error { return runCount(c, a, args[0], out) },
	}
	c.Flags().StringVarP(&out, "out", "o", "", "the file with the number")
	return c
}

func runCount(c *cobra.Command, a *app, in, out string) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	f := stage.Files{Reads: []stage.Input{{Path: in}}, Writes: []stage.Output{{Path: out}}}
	if err := f.Check(); err != nil {
		return err
	}
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	a.Say("counting %s", in)
	return atomicfile.Write(out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, bytes.Count(text, []byte("\n")))
		return err
	})
}
