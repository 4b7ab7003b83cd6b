package bench

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/features"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// Benchmark is a reproducible experiment that produces a report.
type Benchmark struct {
	Name  string // as in pipe bench NAME
	About string // one line
	// Run computes the report and writes further files, if it has any, into o.Out unless that is empty. The report's
	// own files are written by Bench.
	Run func(ctx context.Context, o Options, p stage.Progress) (*report.Report, error)
	// Choice says that Run takes Options.Tables and Options.Methods.
	Choice bool
}

// Options are the options of one run of a benchmark.
type Options struct {
	Config  string       // configuration file; empty: the benchmark's defaults
	Out     string       // folder for the report and what else the benchmark leaves; empty: nothing is written
	Runtime ort.Config   // which library and device
	Restart bool         // discard costs that an earlier run has built, or its decisions on tables; other steps detect changes themselves
	Tables  []string     // of those of the benchmark; none: all
	Methods []string     // of those of the benchmark; none: all
	Budget  *chat.Budget // for answers of chat models; nil: any
	SkipBad bool         // leave out images that cannot be used
	// Say receives remarks during the run, such as a part that is left out; nil: they are dropped.
	Say func(remark string)
}

func (o Options) say(remark string) {
	if o.Say != nil {
		o.Say(remark)
	}
}

// The endings of files with decisions on a table, and with the time that they took.
const (
	decisionsEnding = ".decisions.json"
	secondsEnding   = ".seconds.json"
)

// files are the files of a benchmark: in its folder, and in folders below it with records of finished steps.
func (o Options) files(ctx context.Context) stage.Files {
	f := stage.Files{Reads: stage.ConfigFiles(ctx, storage.File(o.Config))}
	if o.Out == "" {
		return f
	}
	patterns := append([]string{"*.stage.json", "*" + decisionsEnding, "*" + secondsEnding, "costs.parquet", features.TableFile, features.EncoderFile, features.ReportFile, train.ReportFile, "*.onnx", "*" + stage.DescriptionEnding}, report.Patterns...)
	folders := map[string]bool{o.Out: true}
	_ = filepath.WalkDir(o.Out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".stage.json") {
			folders[filepath.Dir(path)] = true
		}
		return nil
	})
	for folder := range folders {
		f.Writes = append(f.Writes, stage.Output{Path: storage.File(folder), Patterns: patterns})
	}
	return f
}
