package costing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/kinds"
	"pipe/internal/config"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// Config is the configuration file of pipe costs; docs/costs-config.md describes it.
type Config struct {
	Costs    part.Config `yaml:"costs"`
	Imagenet any         `yaml:"imagenet"` // the section of pipe bench imagenet, ignored here

	kinds *part.Kinds // of the caller
}

// Validate reports every problem that can be found without opening a file.
func (c *Config) Validate() error {
	return c.Costs.Validate(kinds.Builtin().With(c.kinds))
}

// Options are the options of Run.
type Options struct {
	Config  storage.Location // the configuration file
	Out     storage.Location // a .parquet file, or a folder
	Base    string           // finished output of the configuration without its last experts: only these are asked; "": none
	Restart bool             // drop what an earlier run has done
	Answers storage.Location // folder of the answers of chat models; "": answers beside the output
	Budget  *chat.Budget     // for new answers; nil: any
	SkipBad bool             // leave out images that cannot be used
	Kinds   *part.Kinds      // kinds of the caller, which add to those of this module or replace those of the same name; nil: none
	Runtime ort.Config
}

// Report describes a build and its result. It is the JSON object of pipe costs --json.
type Report struct {
	builder.Report
	Losses []ActionLoss `json:"losses"`
}

// ActionLoss is the mean task loss of one action over all instances, fees not counted.
type ActionLoss struct {
	Action string  `json:"action"`
	Loss   float64 `json:"loss"`
}

// Run builds the cost tensor that a configuration describes; see builder.Run for how it resumes. ONNX Runtime is
// opened only if a part of the configuration needs it.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	progress = stage.OrQuiet(progress)
	remote, err := stage.OpenRemoteOutput(ctx, o.Out, "costs.parquet", o.Restart)
	if err != nil {
		return nil, err
	}
	if remote != nil {
		o.Out = remote.Local
	}
	var r *builder.Report
	err = o.build(ctx, progress, func(cfg part.Config, b builder.Options) (err error) {
		r, err = builder.Run(ctx, cfg, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	if remote != nil {
		if err := remote.Store(ctx); err != nil {
			return nil, err
		}
		defer func() { r.File = remote.String() }()
	}
	progress.Start(int64(r.Instances), "read back")
	defer progress.Done()
	return Summarize(ctx, r, progress)
}

// build reads the configuration and calls do with it. It closes the runtime that do may have opened.
func (o *Options) build(ctx context.Context, progress stage.Progress, do func(part.Config, builder.Options) error) (err error) {
	cfg, b, close, err := o.Open(ctx, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, close()) }()
	return do(cfg, b)
}

// Open reads the configuration for a builder. close closes the runtime, if the builder has opened it.
func (o *Options) Open(ctx context.Context, progress stage.Progress) (_ part.Config, _ builder.Options, close func() error, err error) {
	if err := o.files(ctx).Check(ctx); err != nil {
		return part.Config{}, builder.Options{}, nil, err
	}
	cfg := Config{Costs: part.DefaultConfig(), kinds: o.Kinds}
	if err := config.Load(ctx, o.Config, &cfg); err != nil {
		return part.Config{}, builder.Options{}, nil, err
	}
	dir, err := o.Config.Dir().Abs()
	if err != nil {
		return part.Config{}, builder.Options{}, nil, err
	}
	var rt *ort.Runtime
	close = func() error {
		if rt == nil {
			return nil
		}
		return rt.Close()
	}
	return cfg.Costs, builder.Options{
		Out: o.Out, Dir: dir, Base: o.Base, Restart: o.Restart, Answers: o.Answers.Path(), Budget: o.Budget, SkipBad: o.SkipBad, Kinds: kinds.Builtin().With(o.Kinds), Progress: progress,
		Runtime: func() (*ort.Runtime, error) {
			var err error
			if rt == nil {
				rt, err = ort.Open(o.Runtime)
			}
			return rt, err
		},
	}, close, nil
}

// Summarize adds mean losses to the report of a build. It streams the finished tensor, so that its size does not matter.
func Summarize(ctx context.Context, r *builder.Report, progress stage.Progress) (_ *Report, err error) {
	file := storage.File(r.File)
	if r.Local != "" {
		file = storage.File(r.Local)
	}
	in, err := costs.OpenReader(ctx, file, costs.ReadOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	sums := make([]float64, in.Actions().Len())
	for {
		t, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		progress.Add(int64(t.Len()))
		for i, v := range t.Loss {
			sums[i%len(sums)] += float64(v) // NaN if the pair does not exist
		}
	}
	out := &Report{Report: *r}
	for i, sum := range sums {
		if !math.IsNaN(sum) {
			out.Losses = append(out.Losses, ActionLoss{in.Actions().Name(i), sum / float64(r.Instances)})
		}
	}
	return out, nil
}

// WriteText writes the report for a reader at a terminal.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d instances (%d train, %d val, %d test), %d actions, %d features (%s)\n",
		safetext.Line(r.File), r.Instances, r.Train, r.Val, r.Test, r.Actions, r.Dim, safetext.Line(r.Features))
	fmt.Fprintf(w, "%d shards, %d of them done before; %.1f s\n", r.Shards, r.Resumed, r.Seconds)
	if line := stage.GroupsLine(r.Groups, r.Divided); line != "" {
		fmt.Fprintf(w, "groups of instances: %s\n", line)
	}
	if len(r.Facts) > 0 {
		fmt.Fprintf(w, "facts of answers: %s\n", strings.Join(r.Facts, ", "))
	}
	writeSkipped(w, &r.Report)
	fmt.Fprintln(w)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "action\tmean task loss")
	for _, l := range r.Losses {
		fmt.Fprintf(tab, "%s\t%.4f\n", safetext.Line(l.Action), l.Loss)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if err := writeLatency(w, r.Latency); err != nil {
		return err
	}
	return chat.WriteCounts(w, r.Answers)
}

// writeSkipped writes how many images were left out, and where they are listed.
func writeSkipped(w io.Writer, r *builder.Report) {
	if len(r.Skipped) == 0 {
		return
	}
	fmt.Fprintf(w, "bad images left out: %d, listed in %s\n", len(r.Skipped), safetext.Line(r.BadList))
	for _, line := range part.FirstBad(r.Skipped) {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// writeLatency writes the measured time of each pair, and its fee.
func writeLatency(w io.Writer, pairs []builder.PairLatency) error {
	if len(pairs) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\npair\tms per instance\tmeasured fee")
	for _, l := range pairs {
		fmt.Fprintf(tab, "%s/%s\t%.2f\t%.4g\n", safetext.Line(l.Expert), safetext.Line(l.Advice), 1000*l.Seconds, l.Fee)
	}
	return tab.Flush()
}

func (o Options) files(ctx context.Context) stage.Files {
	f := stage.Files{Reads: append(stage.ConfigFiles(ctx, o.Config), stage.NamedFiles(storage.File(o.Base))...)}
	for _, path := range builder.OutputFiles(ctx, o.Out, o.Answers.Path()) {
		f.Writes = append(f.Writes, stage.Output{Path: path})
	}
	return f
}
