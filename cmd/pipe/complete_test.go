package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletionInBash: bash completes commands, and values of flags that take one of a few.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		missing(t, "bash", err)
	}
	program, err := os.Executable() // the test, which is pipe under that name
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "pipe")); err != nil {
		t.Fatal(err)
	}
	// Bash's own package of completions defines the function that splits the line.
	const script = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
compopt() { :; }
source <(pipe completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
__start_pipe
printf '%s\n' "${COMPREPLY[@]%% *}"`
	for line, want := range map[string]string{
		"pipe de":                      "decide demo",
		"pipe train --recipe ":         "auto paper",
		"pipe decide --out-format p":   "parquet",
		"pipe eval --split ":           "test train val",
		"pipe calibrate --split ":      "test val",
		"pipe import --preset router":  "routerbench",
		"pipe doctor --device c":       "cpu cuda",
		"pipe generate fraud --world ": "flat planted",
	} {
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"-c", script, "bash"}, strings.Split(line, " ")...)...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q: %v %s", line, got, want, err, &stderr)
		}
	}
}

// TestFixedValues: each value is one that some command takes.
func TestFixedValues(t *testing.T) {
	taken := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, v := range valuesOf(f) {
				taken[f.Name+" "+v] = true
			}
		})
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			for _, v := range valuesOf(f) {
				taken[f.Name+" "+v] = true
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(newApp(nil, nil, nil)))
	for name, values := range fixedValues {
		for _, v := range values {
			if !taken[name+" "+v] {
				t.Errorf("no usage of --%s names %s", name, v)
			}
		}
	}
}

// TestManual: every command has a page, which groff accepts and which shows the help as it is.
func TestManual(t *testing.T) {
	root := newRoot(newApp(nil, nil, nil))
	pages := manual(root)
	for _, name := range []string{"pipe.1", "pipe-train.1", "pipe-init.1", "pipe-generate-fraud.1"} {
		if pages[name] == "" {
			t.Errorf("no page %s", name)
		}
	}
	if len(pages) < len(root.Commands()) {
		t.Errorf("%d pages", len(pages))
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is missing: the pages are not rendered")
	}
	for name, text := range pages {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=200n")
		cmd.Stdin = strings.NewReader(text)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v %s", name, err, &stderr)
		}
		if name != "pipe-train.1" {
			continue
		}
		train, _, err := root.Find([]string{"train"})
		if err != nil {
			t.Fatal(err)
		}
		squeeze := func(s string) string { return regexp.MustCompile(`\s+`).ReplaceAllString(s, " ") }
		for _, want := range []string{train.Short, train.Long[:200], train.Flag("recipe").Usage, strings.TrimSpace(train.Example)} {
			if !strings.Contains(squeeze(string(out)), squeeze(want)) {
				t.Errorf("%s does not show %q", name, want)
			}
		}
	}
}
