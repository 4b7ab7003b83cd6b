package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs/build"
	"pipe/internal/atomicfile"
	"pipe/models/auto"
	"pipe/onnx/ort"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// benchRun is one run of a benchmark that draws splits and runs every setting on each of them.
type benchRun struct {
	name     string // of the benchmark
	title    string // of its reports
	o        Options
	out      string // folder in which steps keep what they have done
	rt       *ort.Runtime
	progress stage.Progress
	notes    []string
}

// startBench opens the runtime for a benchmark and runs it. Without a folder for its output there is one that is removed
// at the end.
func startBench(name string, o Options, p stage.Progress, run func(b *benchRun) (*report.Report, error)) (_ *report.Report, err error) {
	b := &benchRun{name: name, o: o, out: o.Out, progress: p}
	if b.out == "" {
		var remove func() error
		if b.out, remove, err = atomicfile.TempFolder("", "pipe-"+name+"-*"); err != nil {
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

// note adds a note to the report and says it at once.
func (b *benchRun) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.notes = append(b.notes, text)
	b.o.say("note: " + text)
}

// buildOptions are those of every cost tensor of the benchmark.
func (b *benchRun) buildOptions() build.Options {
	return build.Options{
		Kinds:   build.Builtin(),
		Restart: b.o.Restart, Budget: b.o.Budget, SkipBad: b.o.SkipBad, Progress: b.progress, Runtime: func() (*ort.Runtime, error) { return b.rt, nil },
	}
}

// engine names what the bits of a graph's results depend on besides its inputs.
func (b *benchRun) engine() string {
	return fmt.Sprintf("onnxruntime %s on %s", b.rt.Version(), b.rt.Device())
}

// splitFolder is where a draw of the split keeps its files.
func (b *benchRun) splitFolder(draw int) string {
	return filepath.Join(b.out, fmt.Sprintf("split%d", draw))
}

// draws runs every draw of the split and averages their reports; split runs one.
func (b *benchRun) draws(n int, split func(draw int) (*report.Report, error)) (*report.Report, error) {
	var splits []*report.Report
	for draw := range n {
		report, err := split(draw)
		if err != nil {
			return nil, fmt.Errorf("split %d: %w", draw, err)
		}
		splits = append(splits, report)
	}
	whole := averageReports(splits)
	whole.Title = b.title
	whole.Notes = append(whole.Notes, fallbackNotes(splits)...)
	return whole, nil
}

// trials runs one draw of the split through all settings and leaves its report: make says what a setting is. A benchmark
// with one setting need not name it.
func (b *benchRun) trials(ctx context.Context, draw int, settings []string, make func(setting int, folder string) *trial) (*report.Report, error) {
	folder := b.splitFolder(draw)
	whole := &report.Report{Format: report.Format, Benchmark: b.name, Title: fmt.Sprintf("%s, split %d", b.title, draw), Settings: map[string]string{}}
	for i, name := range settings {
		part, err := make(i, folder).run(ctx)
		if err != nil && name != "" {
			err = fmt.Errorf("setting %s: %w", name, err)
		}
		if err != nil {
			return nil, err
		}
		whole.Join(name, part)
		whole.StandIn = cmp.Or(whole.StandIn, part.StandIn)
		whole.Latency, whole.Skipped = part.Latency, part.Skipped
		for key, value := range part.Settings {
			if name != "" {
				key = name + ": " + key
			}
			whole.Settings[key] = value
		}
		for _, n := range part.Notes {
			whole.Notes = append(whole.Notes, ofSetting(name)+n)
		}
	}
	return whole, report.Write(folder, whole)
}

// ofSetting starts a note on a setting that has a name.
func ofSetting(name string) string {
	if name == "" {
		return ""
	}
	return "Setting " + name + ": "
}

// fallbackNotes say, per setting, in how many splits the guard of auto exported the constant.
func fallbackNotes(splits []*report.Report) []string {
	counts := map[report.RowKey]int{}
	for _, r := range splits {
		for _, row := range r.Rows {
			if len(row.Fallback) > 0 {
				counts[row.Key()]++
			}
		}
	}
	var notes []string
	for _, name := range splits[0].SettingNames() {
		var parts []string
		for _, row := range splits[0].Rows {
			if row.Method == auto.Name && row.Setting == name {
				parts = append(parts, fmt.Sprintf("%d at lambda %s", counts[row.Key()], report.Number(row.Lambda)))
			}
		}
		if len(parts) > 0 {
			notes = append(notes, fmt.Sprintf("%sThe guard of auto exported the best constant in so many of %d splits: %s.",
				ofSetting(name), len(splits), strings.Join(parts, ", ")))
		}
	}
	return notes
}
