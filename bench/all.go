package bench

import (
	"context"
	"fmt"

	"pipe/internal/storage"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// benchmarks is the registry: a new benchmark is a file and a line here.
var benchmarks = []Benchmark{
	syntheticBenchmark,
	fraudBenchmark,
	feverBenchmark,
	imagenetBenchmark,
	tablesBenchmark,
}

// All lists the benchmarks, in the order of the documentation.
func All() []Benchmark { return benchmarks }

// Run runs the named benchmark and writes its report into o.Out. An unknown name is an error that lists the known ones.
func Run(ctx context.Context, name string, o Options, p stage.Progress) (*report.Report, error) {
	p = stage.OrQuiet(p)
	var known []string
	for _, b := range benchmarks {
		if b.Name != name {
			known = append(known, b.Name)
			continue
		}
		if !b.Choice && len(o.Tables)+len(o.Methods) > 0 {
			return nil, &stage.OptionError{Err: fmt.Errorf("bench %s runs everything: it has no choice of tables and methods", b.Name)}
		}
		if err := o.files(ctx).Check(ctx); err != nil {
			return nil, err
		}
		// Create the folder now, to fail before the work and not after it.
		return stage.Alone(storage.File(o.Out), func() (*report.Report, error) { return b.into(ctx, o, p) })
	}
	return nil, &stage.UnknownError{What: "benchmark", Name: name, Known: known}
}

// into runs the benchmark and writes its report.
func (b *Benchmark) into(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	r, err := b.Run(ctx, o, p)
	p.Done()
	if err != nil {
		return nil, fmt.Errorf("bench %s: %w", b.Name, err)
	}
	if o.Out == "" {
		return r, nil
	}
	return r, report.Write(ctx, storage.File(o.Out), r)
}
