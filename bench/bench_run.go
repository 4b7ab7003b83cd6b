package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pipe/experts/builder"
	"pipe/experts/kinds"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/onnx/ort"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// benchRun is one run of a benchmark that draws splits and runs every setting on each of them.
type benchRun struct {
	name     string // of the benchmark
	title    string // of its reports
	o        Options
	dir      string // of the configuration
	out      string // folder of finished steps
	rt       *ort.Runtime
	progress stage.Progress
	notes    []string
}

// recorded computes a result, or reads that of an earlier run with the same inputs. result is a pointer to its type.
func (b *benchRun) recorded(ctx context.Context, name string, inputs map[string]string, result any, compute func() (any, error)) error {
	file := filepath.Join(b.out, name+".json")
	s := stage.Step{Folder: storage.File(b.out), Name: name, Inputs: inputs}
	err := s.Run(ctx, func() ([]string, error) {
		made, err := compute()
		if err != nil {
			return nil, err
		}
		return []string{filepath.Base(file)}, atomicfile.Write(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(made) })
	})
	if err != nil {
		return err
	}
	text, err := textfile.ReadFile(file, textfile.MaxWhole)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// configured is a benchmark that needs a configuration file.
type configured struct {
	name    string
	configs string // the configurations to choose from, for the error if none is given
}

// start loads the configuration into file, opens the runtime and runs the benchmark. If no output folder is given, it
// uses a temporary one.
func (c configured) start(ctx context.Context, o Options, file any, p stage.Progress, run func(b *benchRun) (*report.Report, error)) (_ *report.Report, err error) {
	if o.Config == "" {
		return nil, &stage.OptionError{Err: fmt.Errorf("%s needs --config: %s", c.name, c.configs)}
	}
	if err := config.Load(ctx, storage.File(o.Config), file); err != nil {
		return nil, err
	}
	b := &benchRun{name: c.name, o: o, out: o.Out, progress: p}
	if b.dir, err = filepath.Abs(filepath.Dir(o.Config)); err != nil {
		return nil, err
	}
	if b.out == "" {
		var remove func() error
		if b.out, remove, err = atomicfile.TempFolder("", "pipe-"+c.name+"-*"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	if b.rt, err = ort.Open(o.Runtime); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.rt.Close()) }()
	return run(b)
}

// note adds a note to the report and also prints it immediately.
func (b *benchRun) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.notes = append(b.notes, text)
	b.o.say("note: " + text)
}

// buildOptions are the options for every cost tensor of the benchmark.
func (b *benchRun) buildOptions() builder.Options {
	return builder.Options{
		Kinds:   kinds.Builtin(),
		Restart: b.o.Restart, Budget: b.o.Budget, SkipBad: b.o.SkipBad, Progress: b.progress, Runtime: func() (*ort.Runtime, error) { return b.rt, nil },
	}
}

// sharedOptions are the build options if all splits share experts and answers, and the configuration names the files.
func (b *benchRun) sharedOptions() builder.Options {
	o := b.buildOptions()
	o.Dir, o.Experts, o.Answers = storage.File(b.dir), filepath.Join(b.out, "experts"), filepath.Join(b.out, "answers")
	return o
}

// engine identifies the runtime and device, on which the bits of a graph's results depend.
func (b *benchRun) engine() string {
	return fmt.Sprintf("onnxruntime %s on %s", b.rt.Version(), b.rt.Device())
}

// splitFolder is the folder of one draw of the split.
func (b *benchRun) splitFolder(draw int) string {
	return filepath.Join(b.out, fmt.Sprintf("split%d", draw))
}
