// Package docs_test runs pages of this folder as they are printed.
package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/tools/notebook/page"
)

// TestTutorial does what a reader of the tutorial does, in an empty folder: it saves the files, runs the commands in one
// shell, and compares what they print with the page. Only ~/pipe and $HOME/pipe, which stand for the
// checkout, are replaced.
func TestTutorial(t *testing.T) { runPage(t, "tutorial.md") }

// TestLogs does what a reader of the page on logs does.
func TestLogs(t *testing.T) { runPage(t, "logs.md") }

// TestCascades does what a reader of the page on cascades does.
func TestCascades(t *testing.T) { runPage(t, "cascades.md") }

func runPage(t *testing.T, name string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it trains three times and builds the program")
	}
	python := judge.Python(t, "onnxruntime", "numpy")
	root := realdata.Root(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nexec '"+python+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	follow(t, name, bin, "~/pipe", root, "$HOME/pipe", root)
}

// follow runs the commands of a page with the programs in the folder bin, and compares what they print with the page. Of the
// page, the old strings are replaced by the new ones.
func follow(t *testing.T, name, bin string, oldnew ...string) {
	t.Helper()
	commands, script := shellScript(t, strings.NewReplacer(oldnew...).Replace(read(t, name)))
	printed := strings.Split(run(t, script, bin), boundary)
	if len(printed) != len(commands)+1 {
		t.Fatalf("%d commands printed %d times", len(commands), len(printed)-1)
	}
	for i, c := range commands {
		if got := lines(printed[i]); !matches(got, c.Prints) {
			t.Errorf("$ %s\nprinted:\n%s\n\nthe page has:\n%s", c.Text, strings.Join(got, "\n"), strings.Join(c.Prints, "\n"))
		}
	}
}

// TestTutorialTable draws the table of the tutorial again.
func TestTutorialTable(t *testing.T) {
	got := judge.Run(t, judge.Python(t, "random"), "tutorial", read(t, "tutorial/outcomes.py"))
	if want := read(t, "tutorial/outcomes.csv"); got != want {
		t.Error("outcomes.py does not print outcomes.csv")
	}
}

// TestMatches compares what commands print with what a page shows of it.
func TestMatches(t *testing.T) {
	printed := []string{"a", "b", "c", "b", "d"}
	for _, test := range []struct {
		page string
		want bool
	}{
		{"a b c b d", true},
		{"a ...", true},
		{"... d", true},
		{"a ... b d", true},
		{"... b ... d", true},
		{"...", true},
		{"a b c b d ...", true},
		{"", false},
		{"a b", false},
		{"b ...", false},
		{"... c", false},
		{"... d ... b ...", false},
		{"a ... c d", false},
	} {
		if got := matches(printed, strings.Fields(test.page)); got != test.want {
			t.Errorf("%q: %v, want %v", test.page, got, test.want)
		}
	}
}

// boundary is printed between the outputs of two commands.
const boundary = "\x00\n"

// shellScript makes a script of a page, which saves its files and runs its commands.
func shellScript(t *testing.T, markdown string) ([]page.Command, string) {
	t.Helper()
	parts, err := page.Parse(markdown)
	if err != nil {
		t.Fatal(err)
	}
	var commands []page.Command
	var script strings.Builder
	script.WriteString("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT # servers, where the page is left early\n")
	for _, p := range parts {
		if p.File != "" {
			fmt.Fprintf(&script, "cat >%s <<'END OF FILE'\n%sEND OF FILE\n", p.File, p.Content)
		}
		for _, c := range p.Commands {
			fmt.Fprintf(&script, "%s\nprintf '\\0\\n'\n", c.Text)
		}
		commands = append(commands, p.Commands...)
	}
	if len(commands) == 0 {
		t.Fatal("the page has no commands")
	}
	return commands, script.String()
}

// run runs a script in an empty folder, with the programs in bin before others, and returns its standard output.
func run(t *testing.T, script, bin string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PWD="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	return string(out)
}

// matches reports whether a page shows what was printed; a line of three dots stands for any lines.
func matches(printed, page []string) bool {
	dots := slices.Index(page, "...")
	if dots < 0 {
		return slices.Equal(printed, page)
	}
	if len(printed) < dots || !slices.Equal(printed[:dots], page[:dots]) {
		return false
	}
	for skip := dots; skip <= len(printed); skip++ {
		if matches(printed[skip:], page[dots+1:]) {
			return true
		}
	}
	return false
}

// lines splits a text into lines without spaces at their ends.
func lines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		list = append(list, strings.TrimRight(line, " \n"))
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
