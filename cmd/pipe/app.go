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
	"pipe/pipeline"
	"pipe/pipeline/stage"
)

// app is what every command shares: the standard streams and the flags of the root.
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

	report *progress.Reporter // of progress and remarks
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	a.report = progress.New(stderr, a.colour())
	return a
}

const rootText = `pipe learns, from a table of what every expert loses under every piece of advice, which expert should act on
an instance and which advice to buy for it, and exports the answer as one ONNX file.

Data goes to standard output, everything else to standard error. One signal (SIGINT, SIGTERM or SIGHUP) ends a run within
seconds, with code 130 and without leaving temporary files; a second one ends it at once.`

const rootExamples = `  pipe doctor
  pipe bench synthetic --out out/synthetic
  pipe import --config outcomes.yaml --out costs.parquet
  pipe inspect costs.parquet --lambda 0,1
  pipe decide --policy policy.onnx --in costs.parquet --out decisions.csv`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "pipe",
		Short:         "Learn which expert acts and which advice it is shown",
		Long:          rootText,
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       pipeline.Version(),
		Args:          unknownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print one JSON object instead of text")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no remarks on standard error")
	f.StringVar(&a.library, "runtime", "", "path of the ONNX Runtime library or its folder")
	f.StringVar(&a.device, "device", ort.CPU, "where graphs run: cpu or cuda")
	f.IntVar(&a.gpu, "gpu", 0, "which GPU, with --device cuda")
	f.IntVar(&a.threads, "threads", 0, "threads of the runtime; 0 is one per core")
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

// unknownCommand is reached when no command matched: nothing to do is help, anything else is a mistake.
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

// colour tells whether standard error may carry colours: a terminal, and NO_COLOR is not set.
func (a *app) colour() bool {
	f, ok := a.stderr.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

// say writes a remark to standard error unless --quiet.
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
