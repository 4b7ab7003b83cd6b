package main

import (
	"github.com/spf13/cobra"

	"pipe/onnx/ort"
	"pipe/pipeline/inspect"
)

const rootText = `pipe learns who should answer a request and what they should be shown. For every input it picks a pair: an expert (a
model, a service, a person) and a piece of advice for it. The policy that it learns is one ONNX file.

Results go to standard output, progress and messages to standard error. SIGINT, SIGTERM or SIGHUP stops a run within
seconds, with exit code 130 and without temporary files. A second signal stops it at once.`

const rootExamples = `  pipe demo
  pipe init outcomes.csv
  pipe import --config outcomes.yaml --out costs.parquet
  pipe inspect costs.parquet --lambda 0,1
  pipe decide --policy policy.onnx --in costs.parquet --out decisions.csv`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "pipe",
		Short:         "Learn which expert answers, and with which advice",
		Long:          rootText,
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       inspect.Version(),
		Args:          unknownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.JSON, "json", false, "print one JSON object instead of text")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress and no messages on standard error, except errors")
	f.StringVar(&a.runtime.Library, "runtime", "", "the ONNX Runtime library, or its folder")
	f.StringVar(&a.runtime.Device, "device", ort.CPU, "device for ONNX graphs: cpu or cuda")
	f.IntVar(&a.runtime.DeviceID, "gpu", 0, "index of the GPU, with --device cuda")
	f.IntVar(&a.runtime.Threads, "threads", 0, "threads of ONNX Runtime; 0: one per core")
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		if err := parseLocations(c, args); err != nil {
			return err
		}
		if a.runtime.Threads < 0 || a.runtime.DeviceID < 0 {
			return usage(c, "--threads %d, --gpu %d: neither may be negative", a.runtime.Threads, a.runtime.DeviceID)
		}
		return oneOf(c, "device", a.runtime.Device, ort.CPU, ort.CUDA)
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%v", err) })
	root.AddCommand(
		demoCommand(a), initCommand(a), doctorCommand(a), benchCommand(a), featurizeCommand(a), indexCommand(a), costsCommand(a), importCommand(a), mergeCommand(a), diffCommand(a), reportCommand(a), trainCommand(a),
		evalCommand(a), opeCommand(a), decideCommand(a), calibrateCommand(a), monitorCommand(a), inspectCommand(a), convertCommand(a), generateCommand(a), serveCommand(a), learnCommand(a), versionCommand(a), manCommand(),
	)
	if err := completeValues(root); err != nil {
		panic(err) // a flag has two lists of values
	}
	return root
}

// unknownCommand runs if no command matched: without arguments it prints the help, with arguments it is an error.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return usage(c, "unknown command %q; did you mean %q?", args[0], near[0])
	}
	return usage(c, "unknown command %q", args[0])
}
