package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

const manText = `Man writes the manual pages of all commands, for packages: pipe.1, pipe-train.1 and so on. They have the texts of --help.`

const manExamples = `  pipe man /usr/local/share/man/man1`

// manCommand is hidden: packages run it, users read the pages.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages",
		Long:    manText,
		Example: manExamples,
		Hidden:  true,
		Args:    oneArg("a folder"),
		RunE:    func(c *cobra.Command, args []string) error { return writeManual(c, args[0]) },
	}
}

func writeManual(c *cobra.Command, folder string) error {
	for name, text := range manual(c.Root()) {
		at := filepath.Join(folder, name)
		if err := atomicfile.MakeFolderAt(c.Context(), storage.File(at)); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(at, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// manual are the pages of a command and of those below it, by their names.
func manual(c *cobra.Command) map[string]string {
	pages := map[string]string{pageName(c) + ".1": manPage(c)}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			for name, text := range manual(sub) {
				pages[name] = text
			}
		}
	}
	return pages
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the page of a command in the man macros. The texts of commands are no Markdown, so none is converted.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	section := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n%s", name, text)
		}
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"pipe %s\"\n", roff(strings.ToUpper(pageName(c))), roff(c.Root().Version))
	section("NAME", roff(pageName(c))+" \\- "+roff(c.Short)+"\n")
	section("SYNOPSIS", ".nf\n"+roff(c.UseLine())+"\n.fi\n")
	section("DESCRIPTION", strings.ReplaceAll(roff(c.Long), "\n\n", "\n.PP\n")+"\n")
	section("OPTIONS", manFlags(c.NonInheritedFlags()))
	section("OPTIONS OF ALL COMMANDS", manFlags(c.InheritedFlags()))
	section("EXAMPLES", ".nf\n"+roff(c.Example)+"\n.fi\n")
	var others []string
	if c.HasParent() {
		others = append(others, pageName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			others = append(others, pageName(sub))
		}
	}
	for i, name := range others {
		others[i] = ".BR " + roff(name) + " (1)\n"
	}
	section("SEE ALSO", strings.Join(others, ""))
	return b.String()
}

func manFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP %s\n%s\n", roff(name), roff(value), roff(usage))
	})
	return b.String()
}

// roff is a text as troff shows it: no character of it is a command.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
