package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelp checks the help of every command: a unique name, a short line, a text of readable width, an example, a usage
// of every flag, and plain words.
func TestHelp(t *testing.T) {
	seen := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := c.CommandPath()
		if seen[path] {
			t.Errorf("duplicate command %s", path)
		}
		seen[path] = true
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Long == "" || !strings.Contains(c.Example, "  "+path) && !strings.Contains(c.Example, " "+path+" ") {
			t.Errorf("%s: short text %q, long text %q, examples %q", path, c.Short, c.Long, c.Example)
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 126 {
				t.Errorf("%s: a line of %d bytes: %s", path, len(line), line)
			}
		}
		plain(t, path, c.Short+"\n"+c.Long+"\n"+c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q", path, f.Name, f.Usage)
			}
			plain(t, path+" --"+f.Name, f.Usage)
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard)))
	if len(seen) < 13 {
		t.Errorf("only %d commands", len(seen))
	}
}

// plain reports words for which there are plainer ones.
func plain(t *testing.T, where, text string) {
	t.Helper()
	text = " " + strings.Join(strings.Fields(strings.ToLower(text)), " ") + " "
	for _, habit := range []string{"somebody", "nobody", "so many", "likewise", "there already", "there twice", "of its own", " tells ", "in the making", " talk "} {
		if strings.Contains(text, habit) {
			t.Errorf("%s has %q: %s", where, habit, text)
		}
	}
}
