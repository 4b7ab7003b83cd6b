package bench

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"pipe/costs/chat"
	"pipe/onnx/ort"
	"pipe/pipeline"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Benchmark is a reproducible experiment that ends in a report.
type Benchmark struct {
	Name  string // as in pipe bench NAME
	About string // one line
	// Run computes the report and leaves further files, if it has any, in o.Out unless that is empty. The report's own
	// files are written by Bench.
	Run func(ctx context.Context, o Options, p stage.Progress) (*report.Report, error)
}

// Options fixes one run of a benchmark.
type Options struct {
	Config  string       // configuration file; empty: the benchmark's defaults
	Out     string       // folder for the report and what else the benchmark leaves; empty: nothing is written
	Runtime ort.Config   // which library and device
	Restart bool         // drop what an earlier run has built of costs; other steps notice changes by themselves
	Budget  *chat.Budget // for answers of chat models; nil: any
	SkipBad bool         // leave out images that cannot be used
	// Say is told remarks in the course of the run, such as a part that is left out; nil: nobody is.
	Say func(remark string)
}

func (o Options) say(remark string) {
	if o.Say != nil {
		o.Say(remark)
	}
}

// files of a benchmark lie in its folder and in those below it that hold records of finished steps.
func (o Options) files() stage.Files {
	f := stage.Files{Reads: stage.ConfigFiles(o.Config)}
	if o.Out == "" {
		return f
	}
	patterns := append([]string{"*.stage.json", "costs.parquet", pipeline.TableFile, pipeline.EncoderFile, pipeline.FeaturizeFile, pipeline.TrainReportFile, "*.onnx"}, report.Patterns...)
	folders := map[string]bool{o.Out: true}
	_ = filepath.WalkDir(o.Out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".stage.json") {
			folders[filepath.Dir(path)] = true
		}
		return nil
	})
	for folder := range folders {
		f.Writes = append(f.Writes, stage.Output{Path: folder, Patterns: patterns})
	}
	return f
}
