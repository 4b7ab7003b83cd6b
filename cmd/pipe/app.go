package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pipe/internal/progress"
	"pipe/internal/safetext"
	"pipe/onnx/ort"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// app is what every command shares: the standard streams and the global flags.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	json    bool
	quiet   bool
	library string
	device  string
	gpu     int
	threads int

	report *progress.Reporter // of progress and messages
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	a.report = progress.New(stderr, a.colour())
	return a
}

const rootText = `pipe learns who should answer a request and what they should be shown. For every input it picks a pair: an expert (a
model, a service, a person) and a piece of advice for it. The policy that it learns is one ONNX file.

Results go to standard output, progress and messages to standard error. SIGINT, SIGTERM or SIGHUP stops a run within
seconds, with exit code 130 and without temporary files. A second signal stops it at once.`

const rootExamples = `  pipe doctor
  pipe bench synthetic --out out/synthetic
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
	f.BoolVar(&a.json, "json", false, "print one JSON object instead of text")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no messages on standard error, except errors")
	f.StringVar(&a.library, "runtime", "", "the ONNX Runtime library, or its folder")
	f.StringVar(&a.device, "device", ort.CPU, "device for ONNX graphs: cpu or cuda")
	f.IntVar(&a.gpu, "gpu", 0, "index of the GPU, with --device cuda")
	f.IntVar(&a.threads, "threads", 0, "threads of ONNX Runtime; 0: one per core")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if a.threads < 0 || a.gpu < 0 {
			return usage(c, "--threads %d, --gpu %d: neither may be negative", a.threads, a.gpu)
		}
		return oneOf(c, "device", a.device, ort.CPU, ort.CUDA)
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%v", err) })
	root.AddCommand(
		doctorCommand(a), benchCommand(a), featurizeCommand(a), indexCommand(a), costsCommand(a), importCommand(a), trainCommand(a),
		evalCommand(a), decideCommand(a), inspectCommand(a), convertCommand(a), generateCommand(a),
	)
	return root
}

// unknownCommand is reached when no command matched: without arguments the help is printed, others are an error.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return usage(c, "unknown command %q; did you mean %q?", args[0], near[0])
	}
	return usage(c, "unknown command %q", args[0])
}

// runtime is the configuration of ONNX Runtime that the flags ask for.
func (a *app) runtime() ort.Config {
	cfg := ort.DefaultConfig()
	cfg.Library, cfg.Device, cfg.DeviceID, cfg.Threads = a.library, a.device, a.gpu, a.threads
	return cfg
}

// progress shows how far the work has come, on standard error, unless --quiet.
func (a *app) progress() stage.Progress {
	if a.quiet {
		return stage.Quiet
	}
	return a.report
}

// colour reports whether standard error may have colours: it is a terminal, and NO_COLOR is not set.
func (a *app) colour() bool {
	f, ok := a.stderr.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

// say writes a message to standard error unless --quiet.
func (a *app) say(format string, args ...any) { a.progress().Note(format, args...) }

// printer is a result with a text form.
type printer interface {
	WriteText(w io.Writer) error
}

// print writes a result to standard output: v's JSON with --json, else its text.
func (a *app) print(v printer) error {
	if !a.json {
		return v.WriteText(safetext.Writer(a.stdout))
	}
	if own, ok := v.(interface{ WriteJSON(io.Writer) error }); ok {
		return own.WriteJSON(a.stdout)
	}
	return a.printJSON(v)
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
