package pipeline

import (
	"context"
	"fmt"
	"strings"

	"pipe/costs/build"
	"pipe/onnx/ort"
)

// Benchmark is a reproducible experiment that ends in a report.
type Benchmark struct {
	Name  string // as in pipe bench NAME
	About string // one line
	// Run computes the report and leaves further files, if it has any, in o.Out unless that is empty. The report's own
	// files are written by Bench.
	Run func(ctx context.Context, o BenchOptions, p Progress) (*Report, error)
}

// BenchOptions fixes one run of a benchmark.
type BenchOptions struct {
	Config  string        // configuration file; empty: the benchmark's defaults
	Out     string        // folder for the report and what else the benchmark leaves; empty: nothing is written
	Runtime ort.Config    // which library and device
	Restart bool          // drop what an earlier run has built of costs; other steps notice changes by themselves
	Budget  *build.Budget // for answers of chat models; nil: any
	SkipBad bool          // leave out images that cannot be used
	// Say is told remarks in the course of the run, such as a part that is left out; nil: nobody is.
	Say func(remark string)
}

func (o BenchOptions) say(remark string) {
	if o.Say != nil {
		o.Say(remark)
	}
}

// benchmarks are known by name; a new one is a line here.
var benchmarks = []Benchmark{syntheticBenchmark, fraudBenchmark, feverBenchmark, imagenetBenchmark}

// Benchmarks lists the benchmarks that this program knows, in the order of the documentation.
func Benchmarks() []Benchmark { return benchmarks }

// Bench runs the named benchmark and leaves its report in o.Out. An unknown name is an error that lists the known ones.
func Bench(ctx context.Context, name string, o BenchOptions, p Progress) (*Report, error) {
	var known []string
	for _, b := range benchmarks {
		if b.Name != name {
			known = append(known, b.Name)
			continue
		}
		if err := keepInputs(o.files()); err != nil {
			return nil, err
		}
		// The folder is made now: better than an error after the work.
		return alone(o.Out, func() (*Report, error) { return b.into(ctx, o, p) })
	}
	return nil, &UnknownError{What: "benchmark", Name: name, Known: known}
}

// into runs the benchmark and leaves its report.
func (b *Benchmark) into(ctx context.Context, o BenchOptions, p Progress) (*Report, error) {
	r, err := b.Run(ctx, o, p)
	p.Done()
	if err != nil {
		return nil, fmt.Errorf("bench %s: %w", b.Name, err)
	}
	if o.Out == "" {
		return r, nil
	}
	return r, WriteReport(o.Out, r)
}

// UnknownError says that a name from a fixed list was not on it.
type UnknownError struct {
	What  string
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q; known are %s", e.What, e.Name, strings.Join(e.Known, ", "))
}
