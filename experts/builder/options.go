package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/filelock"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx/ort"
)

// Options control how a build is run; only SkipBad changes its result.
type Options struct {
	Out      storage.Location             // a .parquet file, or a folder that gets costs.parquet
	Dir      storage.Location             // where relative paths of the configuration start; "": the working folder
	Experts  string                       // folder of trained experts; "": the folder experts beside the output
	Answers  string                       // folder of the answers of chat models; "": the folder answers beside the output
	Budget   *chat.Budget                 // money that may be spent on answers; nil: any
	Reuse    string                       // finished output of a build that may differ only in the split: its rows are reused if nothing else depends on the split; "": none
	Base     string                       // finished output of this configuration without its last experts: only these are asked; "": none
	Restart  bool                         // drop the shards of an earlier run; matching trained experts and answers are kept
	SkipBad  bool                         // skip unusable images instead of returning a *BadImagesError
	Progress part.Progress                // nil: nothing is reported
	Runtime  func() (*ort.Runtime, error) // opens the ONNX Runtime if a part needs it; the caller closes it

	Kinds    *part.Kinds       // that the configuration may name; pipe/experts/kinds has those of this module
	OpenText part.TextEncoders // opens encoders of texts; nil: as featurize does

	checkpoints time.Duration       // least time between two checkpoints of training; 0: checkpointEvery; negative: none
	share       func(*chat.Session) // has the session work with those of other workers; nil: it is alone
	divide      part.Divider        // shares passes with other workers; nil: it is alone
	someExperts bool                // the configuration has only some of the experts of a build
	memory      int64               // bytes of the tables that are kept; 0: textfile.MaxHeld, as everywhere but in tests
}

// complete checks the configuration, fills in default options, and returns the
// output file of the build.
func (o *Options) complete(ctx context.Context, cfg *part.Config) (out storage.Location, err error) {
	if err := cfg.Validate(o.Kinds); err != nil {
		return out, err
	}
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	if out, err = OutputFile(ctx, o.Out); err != nil {
		return out, err
	}
	o.Answers, o.Experts = o.answers(out), o.experts(out)
	return out, nil
}

// answers is the folder of answers: the one that is named, else "answers" beside
// the output.
func (o *Options) answers(out storage.Location) string {
	return cmp.Or(o.Answers, out.Dir().Join("answers").Path())
}

// checkpointEvery is the least time between two checkpoints of training.
const checkpointEvery = 5 * time.Second

func (o *Options) checkpoint() time.Duration {
	switch {
	case o.checkpoints == 0:
		return checkpointEvery
	case o.checkpoints < 0:
		return 0
	}
	return o.checkpoints
}

// waits reports that this build waits for another one.
func (o *Options) waits(e *filelock.InUseError) {
	if o.Progress != nil {
		o.Progress.Note("waits: %v", e)
	}
}

// titled puts what an exported function does before its error.
func titled(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

func (o *Options) runtime() (*ort.Runtime, error) {
	if o.Runtime == nil {
		return nil, errors.New("needs the ONNX Runtime, and none was given")
	}
	return o.Runtime()
}

// OutputFile returns the output file of a build: out itself if it ends in
// .parquet, else costs.parquet in the folder out.
func OutputFile(ctx context.Context, out storage.Location) (storage.Location, error) {
	if out.IsZero() {
		return storage.Location{}, errors.New("output: not set")
	}
	info, err := out.Stat(ctx)
	isFolder := err == nil && info.IsDir()
	if strings.HasSuffix(strings.ToLower(out.Base()), ".parquet") && !isFolder {
		return out, nil
	}
	if err == nil && !isFolder {
		return storage.Location{}, fmt.Errorf("output %q is a file that does not end in .parquet", out)
	}
	return out.Join("costs.parquet"), nil
}

// experts is the folder of trained experts: the one that is named, else
// "experts" beside the output.
func (o *Options) experts(out storage.Location) string {
	return cmp.Or(o.Experts, out.Dir().Join("experts").Path())
}
