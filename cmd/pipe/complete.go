package main

import (
	"regexp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/pipeline/imports"
)

// fixedValues are the values of flags that take one of a few. A command has those that its usage of the flag names.
var fixedValues = map[string][]string{
	"device":        {"cpu", "cuda"},
	"estimator":     {"dr", "mrdr", "switch", "dros", "snips", "ips", "dm", "all"},
	"fail-on":       {"inputs", "decisions", "outcomes", "guarantee"},
	"fees":          {"old", "new"},
	"format":        {"auto", "parquet", "csv", "jsonl"},
	"interpolation": {"bicubic", "bilinear"},
	"layout":        {"nchw", "nhwc"},
	"out-format":    {"auto", "parquet", "csv", "jsonl"},
	"precision":     {"float32", "float16"},
	"recipe":        {"auto", "paper"},
	"split":         {"train", "val", "test"},
	"split-kind":    {"hash", "stratified", "random"},
	"weights":       {"none", "ips"},
	"world":         {"planted", "flat"},
}

var usageWord = regexp.MustCompile(`[\w-]+`)

// valuesOf are the fixed values of a flag of a command, nil if it has none.
func valuesOf(f *pflag.Flag) (values []string) {
	if f.Name == "preset" {
		return imports.PresetNames()
	}
	words := usageWord.FindAllString(f.Usage, -1)
	for _, v := range fixedValues[f.Name] {
		if slices.Contains(words, v) {
			values = append(values, v)
		}
	}
	return values
}

// completeValues lets shells complete the values of flags that take one of a few, of a command and those below it. Values of other
// flags are completed as names of files.
func completeValues(c *cobra.Command) error {
	var failed error
	add := func(f *pflag.Flag) {
		if values := valuesOf(f); len(values) > 1 && failed == nil {
			failed = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	c.LocalNonPersistentFlags().VisitAll(add)
	c.PersistentFlags().VisitAll(add)
	for _, sub := range c.Commands() {
		if failed == nil {
			failed = completeValues(sub)
		}
	}
	return failed
}
