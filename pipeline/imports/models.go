package imports

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/costs/outcome"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/grading"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// withModels imports with encoders and judges that it opens and closes. It counts the answers of chat models.
func withModels(ctx context.Context, cfg outcome.Config, o Options, progress stage.Progress) (_ *costs.Tensor, _ outcome.Report, _ []chat.AnswerCount, err error) {
	var rt *ort.Runtime
	open := sync.OnceValues(func() (_ *ort.Runtime, err error) {
		rt, err = ort.Open(o.Runtime)
		return rt, err
	})
	experts, err := o.beside("experts")
	if err != nil {
		return nil, outcome.Report{}, nil, err
	}
	answers, err := o.answers()
	if err != nil {
		return nil, outcome.Report{}, nil, err
	}
	dir, err := o.Config.Dir().Abs()
	if err != nil {
		return nil, outcome.Report{}, nil, err
	}
	vectors := NewVectors(experts, progress, open)
	j := newJudges(&part.Build{
		Dir: dir, Folder: experts, Workers: runtime.GOMAXPROCS(0), Progress: progress, Open: open, Inputs: make(part.Inputs),
	}, answers, o.Budget)
	defer func() {
		if err = errors.Join(err, vectors.Close(), j.build.Close()); rt != nil {
			err = errors.Join(err, rt.Close())
		}
	}()
	cfg.OpenText, cfg.OpenImage, cfg.OpenGrader = vectors.OpenText, vectors.OpenImage, j.open
	ctx = chat.WithTally(ctx, j.counted)
	var t *costs.Tensor
	var report outcome.Report
	if o.Partials != nil {
		t, report, err = outcome.ImportPartials(ctx, cfg, o.Partials)
	} else {
		t, report, err = outcome.Import(ctx, cfg)
	}
	return t, report, j.counts(), err
}

// judges opens graders. The chat models among them keep their answers, within the budget.
type judges struct {
	build   *part.Build
	session *chat.Session
	counted *chat.Tally
}

func newJudges(b *part.Build, answers string, budget *chat.Budget) *judges {
	return &judges{build: b, session: chat.OpenSession(b, answers, budget), counted: &chat.Tally{}}
}

// open is an outcome.OpenGrader.
func (j *judges) open(ctx context.Context, c grade.Config) (grade.Grader, error) {
	g, err := grading.Open(ctx, j.build.Setup("outcomes.grade"), c)
	if err != nil {
		return nil, &builder.PartError{Part: "outcomes.grade", Err: err}
	}
	return g, nil
}

// counts are the answers of chat models.
func (j *judges) counts() []chat.AnswerCount {
	parts := j.session.Parts()
	var all chat.Tally
	all.AddAll(j.counted.Of(parts))
	all.AddAll(j.session.Run())
	return all.Of(parts)
}
