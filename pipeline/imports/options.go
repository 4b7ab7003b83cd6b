package imports

import (
	"context"
	"path/filepath"

	"pipe/costs/outcome"
	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// Options are the options of one import.
type Options struct {
	Config  storage.Location // the configuration file; relative paths in it are relative to its folder
	Preset  string           // instead: the name of the preset that is the configuration
	In      storage.Location // the file or folder of outcomes; needed with Preset, and else instead of that of Config
	Prices  storage.Location // a price file instead of that of the configuration; may be ""
	Encoder string           // an encoder of texts for the columns whose length would be a feature; may be ""
	Out     storage.Location // the tensor; vectors of texts and images are kept in the folder experts beside it
	Runtime ort.Config       // library and device for models; opened only if there are some

	Answers string       // folder of the answers of chat models that judge; "": answers beside the output
	Budget  *chat.Budget // for new answers of chat models; nil: any

	Partials outcome.Partials // outcomes that were read before, instead of those of the table; nil: none

	Append        bool   // add the rows to the tensor at Out
	KeepSame      bool   // with Append: rows that the tensor has with equal content are left out; otherwise they are an error
	Fees          string // with Append, where fees differ: OldFees or NewFees; "": an error
	NewCategories bool   // with Append: values of categorical columns without a feature are accepted, see outcome.Base
}

// Check reports an output that would replace an input.
func (o Options) Check(ctx context.Context) error { return o.files(ctx).Check(ctx) }

func (o Options) files(ctx context.Context) stage.Files {
	reads := append(stage.ConfigFiles(ctx, o.Config), stage.NamedFiles(o.Prices)...)
	if !o.In.IsZero() {
		reads = append(reads, stage.Input{Path: o.In, Part: stage.Ending(".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz"), Grow: true, Big: true})
	}
	writes := []stage.Output{{Path: o.Out}}
	if answers, err := o.answers(); err == nil {
		writes = append(writes, stage.Output{Path: storage.File(filepath.Join(answers, chat.AnswersFile))})
	}
	return stage.Files{Reads: reads, Writes: writes}
}

// answers is the folder of the answers of chat models.
func (o Options) answers() (path string, err error) {
	if o.Answers != "" {
		return o.Answers, nil
	}
	return o.beside("answers")
}

// beside is a folder beside the output, or beside the work folder of a remote output.
func (o Options) beside(name string) (path string, err error) {
	out, err := o.Out.Work()
	return filepath.Join(filepath.Dir(out), name), err
}

// source names where the rows come from.
func (o Options) source() storage.Location {
	if o.Preset != "" {
		return o.In
	}
	return o.Config
}

// What Options.Fees may be: whose fees hold where those of the configuration differ from those of the tensor.
const (
	OldFees = "old" // those of the tensor
	NewFees = "new" // those of the configuration, for all rows
)
