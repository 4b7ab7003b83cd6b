package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/pipeline/decide"
	"pipe/pipeline/eval"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// trial builds the costs of one setting of a benchmark, trains policies and evaluates them. It keeps these files in its
// folder and skips each step whose files exist and have the same inputs:
//
//	costs-NAME.parquet                              cost tensor
//	policies-NAME/, or policies-NAME-RECIPE/ each   policies as ONNX
//	eval-NAME.json                                  evaluation
//
// Without a name there is no -NAME.
type trial struct {
	*benchRun
	setting   string // its name; "" if it is the only one
	folder    string
	costs     part.Config
	options   builder.Options  // without Out
	recipes   []train.Settings // all learn from the same costs, at the same lambdas
	knn       bool
	resamples int
	ask       bool       // ask the experts again, for their probabilities
	complete  completion // zero: nothing is added
}

// completion is what a benchmark adds to the evaluation of a trial.
type completion struct {
	inputs map[string]string // what it depends on besides costs and policies
	add    func(ctx context.Context, r *report.Report, j *judged) error
}

// judged is the input of an evaluation.
type judged struct {
	t       *costs.Tensor
	rows    []int // the reported rows
	learned []replay.Decisions
	experts *builder.ExpertReport
}

// run builds the costs, trains and evaluates.
func (x *trial) run(ctx context.Context) (*report.Report, error) {
	x.options.Out = storage.File(filepath.Join(x.folder, x.tensorFile()))
	built, err := builder.Run(ctx, x.costs, x.options)
	if err != nil {
		return nil, err
	}
	inputs := map[string]string{"costs": built.Digest, "runtime": x.engine(), "format": evalFormat}
	var left []string
	for _, recipe := range x.recipes {
		files, err := x.learn(ctx, recipe, built.Digest)
		if err != nil {
			return nil, err
		}
		left = append(left, files...)
	}
	r, err := x.evaluate(ctx, inputs, left)
	if err != nil {
		return nil, err
	}
	for _, a := range built.Answers {
		r.Answers = append(r.Answers, answersOf(a))
	}
	r.Latency, r.Skipped = built.Latency, built.Skipped
	return r, nil
}

func (x *trial) tensorFile() string { return x.named("costs") + ".parquet" }

// named is a file name of the trial: what, with the setting.
func (x *trial) named(what string) string {
	if x.setting == "" {
		return what
	}
	return what + "-" + x.setting
}

// of is a file name of the trial for one recipe.
func (x *trial) of(c train.Settings, what string) string {
	if len(x.recipes) == 1 {
		return x.named(what)
	}
	return x.named(what) + "-" + c.Recipe
}

// learn trains the policies of a recipe and returns their files, relative to the folder. The checkpoint folder is named
// by a digest of its training, so a changed configuration does not find old checkpoints.
func (x *trial) learn(ctx context.Context, c train.Settings, tensor string) ([]string, error) {
	s := stage.Step{Folder: storage.File(x.folder), Name: x.of(c, "train"), Inputs: map[string]string{
		"costs": tensor, "train": stage.Digest(c), "runtime": x.engine(), "format": "2",
	}}
	policies, work := x.of(c, "policies"), filepath.Join(x.folder, s.Name+".work")
	err := s.Run(ctx, func() ([]string, error) {
		t, err := costs.Read(ctx, storage.File(filepath.Join(x.folder, x.tensorFile())), costs.ReadOptions{})
		if err != nil {
			return nil, err
		}
		o := train.DefaultOptions()
		o.Settings, o.Tensor, o.Out = c, storage.File(x.tensorFile()), storage.File(filepath.Join(x.folder, policies))
		report, err := train.RunOn(ctx, x.rt, t, o, filepath.Join(work, stage.Digest(s.Inputs)[7:23]), x.progress)
		if err != nil {
			return nil, err
		}
		files := []string{policies + "/train.json"}
		for _, p := range report.Policies {
			files = append(files, policies+"/"+p.File, policies+"/"+decide.DescriptionFile(storage.File(p.File)).String())
		}
		return files, errors.Join(x.dropPolicies(ctx, policies, files), os.RemoveAll(work))
	})
	if err != nil {
		return nil, err
	}
	return s.Files(ctx)
}

// dropPolicies removes policies that another configuration wrote.
func (x *trial) dropPolicies(ctx context.Context, folder string, keep []string) error {
	there, err := eval.PolicyFiles(ctx, storage.Files(filepath.Join(x.folder, folder)))
	if err != nil {
		return err
	}
	for _, f := range there {
		if !slices.Contains(keep, below(x.folder, f.Path())) {
			err = errors.Join(err, decide.RemoveDescription(ctx, f), os.Remove(f.Path()))
		}
	}
	return err
}

// below returns path relative to folder, with slashes.
func below(folder, path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, folder), string(filepath.Separator)))
}

// answersOf summarises the answers of one part for the report.
func answersOf(c chat.AnswerCount) report.AnswerQuality {
	return report.AnswerQuality{
		Part: c.Part, Answers: c.Strict + c.Lenient + c.Unparseable + c.Queries + c.Empty,
		Strict: c.Strict, Lenient: c.Lenient, Unparseable: c.Unparseable, Queries: c.Queries, Empty: c.Empty,
		PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens, Estimated: c.Estimated, Money: c.Money,
	}
}
