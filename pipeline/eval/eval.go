package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/storage"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Run ranks policies and baselines by true loss on one split of a tensor. A policy whose actions or features differ
// from the tensor's is refused. If another run is using the folder, the error is a *stage.InUseError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*report.Report, error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*report.Report, error) { return p.fromFiles(ctx, stage.OrQuiet(progress)) })
}

// fromFiles evaluates the policy files on the tensor file, and writes the report into the folder, if there is one.
func (p *plan) fromFiles(ctx context.Context, progress stage.Progress) (_ *report.Report, err error) {
	rt, err := ort.Open(p.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	progress.Start(-1, "read costs")
	defer progress.Done()
	all, err := costs.Read(ctx, p.Tensor, costs.ReadOptions{Actions: p.Actions, Unknown: true})
	if err != nil {
		return nil, err
	}
	if !p.PriceFile.IsZero() {
		p.whole = append(p.whole, all.Digest())
		if all, err = prices.AtFile(ctx, all, p.PriceFile); err != nil {
			return nil, fmt.Errorf("fees of %q at other prices: %w", p.Tensor, err)
		}
	}
	files, err := PolicyFiles(ctx, p.Policies)
	if err != nil {
		return nil, err
	}
	t, left, err := onlyComplete(all, p.split)
	if err != nil {
		return nil, fmt.Errorf("evaluate on %q: %w", p.Tensor, err)
	}
	if left != "" || p.whole != nil {
		p.whole = append(p.whole, all.Digest())
	}
	learned, cascades, err := p.decideBy(ctx, rt, files, t, progress)
	defer func() { err = errors.Join(err, closeAll(learned), closeCascades(cascades)) }()
	if err != nil {
		return nil, err
	}
	kept, notes := once(learned)
	if err := cmp.Or(sameTraining(kept), oneOfEach(cascades)); err != nil {
		return nil, err
	}
	r, err := p.evaluate(ctx, rt, t, kept, cascades, progress)
	if err != nil {
		return nil, err
	}
	if left != "" {
		notes = append(notes, left)
	}
	if !p.PriceFile.IsZero() {
		notes = append(notes, prices.Note(p.PriceFile))
	}
	r.Notes = append(notes, r.Notes...)
	r.Title = fmt.Sprintf("Evaluation of %s on %s", p.Tensor.Base(), p.split)
	if !p.Pictures.IsZero() {
		if r.Album, err = p.album(ctx, r, progress); err != nil {
			return nil, err
		}
	}
	if !p.Out.IsZero() {
		if err := report.Write(ctx, p.Out, r); err != nil {
			return nil, err
		}
	}
	if !p.Figures.IsZero() {
		return r, report.WriteFigures(ctx, p.Figures, r)
	}
	return r, nil
}

// decideBy opens policy files and has them decide, and plays cascades. The caller closes what is returned, also with an error.
func (p *plan) decideBy(ctx context.Context, rt *ort.Runtime, files []storage.Location, t *costs.Tensor, progress stage.Progress) (learned []entry, cascades []played, err error) {
	progress.Start(int64(len(files)), "decide by policies")
	rows := t.Rows(p.split)
	for _, f := range files {
		l, err := openEntry(ctx, rt, f, t, rows)
		var looks *policy.CascadeError
		if errors.As(err, &looks) {
			c, err := openCascade(ctx, rt, f, t, rows)
			if err != nil {
				return learned, cascades, err
			}
			cascades = append(cascades, c)
			progress.Add(1)
			continue
		}
		if err != nil {
			return learned, cascades, err
		}
		learned = append(learned, l)
		progress.Add(1)
	}
	return learned, cascades, nil
}

// PolicyFiles lists the given files and the *.onnx files of given folders.
func PolicyFiles(ctx context.Context, paths []storage.Location) ([]storage.Location, error) {
	return stage.FilesIn(ctx, "policies", paths, ".onnx")
}

// Policies is Run on a tensor and policies in memory. Each policy is exported and decides the rows of the split
// that o names. A tensor that is not valid is an error of costs.Tensor.Validate; if it does not match a policy, the
// error is a *costs.DataError.
func Policies(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, policies []*policy.Policy, o Options, progress stage.Progress) (_ *report.Report, err error) {
	p, err := o.planOn(rt, t)
	if err != nil {
		return nil, err
	}
	var learned []entry
	defer func() { err = errors.Join(err, closeAll(learned)) }()
	for i, given := range policies {
		if err := given.Validate(); err != nil {
			return nil, fmt.Errorf("policy %d: %w", i, err)
		}
		if err := given.Matches(t); err != nil {
			return nil, &costs.DataError{Err: err}
		}
		l, err := newEntry(ctx, rt, given, t, t.Rows(p.split))
		if err != nil {
			return nil, err
		}
		learned = append(learned, l)
	}
	return p.evaluate(ctx, rt, t, learned, nil, stage.OrQuiet(progress))
}

// Decisions is Run on a tensor and decisions in memory. Policies of one method and lambda are seeds of one method.
// Method l2d does not depend on lambda and is reported at all of them. A tensor that is not valid is an
// error of costs.Tensor.Validate.
func Decisions(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, decisions []replay.Decisions, o Options, progress stage.Progress) (*report.Report, error) {
	p, err := o.planOn(rt, t)
	if err != nil {
		return nil, err
	}
	if err := checkDecisions(t, decisions, p.split); err != nil {
		return nil, err
	}
	learned := make([]entry, len(decisions))
	for i, d := range decisions {
		learned[i].Decisions = d
	}
	return p.evaluate(ctx, rt, t, learned, nil, stage.OrQuiet(progress))
}

// planOn is plan for a tensor in memory, which it checks.
func (o Options) planOn(rt *ort.Runtime, t *costs.Tensor) (*plan, error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	return p, replay.Check(rt, t, nil)
}

// evaluate reports on decisions that are known to fit the tensor.
func (p *plan) evaluate(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, learned []entry, cascades []played, progress stage.Progress) (*report.Report, error) {
	e, err := newEvaluation(t, learned, cascades, p)
	if err != nil {
		return nil, err
	}
	lambdas := p.Lambdas
	if lambdas == nil {
		lambdas = e.regimes()
	}
	if p.KNN && len(e.train) >= 2 {
		progress.Start(-1, "nearest neighbours")
		if e.knn, err = baseline.FitKNN(ctx, rt, t, e.train, e.rows, baseline.DefaultKNNSettings(p.Seed)); err != nil {
			return nil, err
		}
	}
	r, own := e.begin(lambdas), e.learned
	if err := e.rank(ctx, r, lambdas, progress); err != nil {
		return nil, err
	}
	progress.Start(-1, "calibration")
	if r.Calibration, err = e.calibrations(lambdas, own); err != nil {
		return nil, err
	}
	if err := e.reportCascades(r, lambdas); err != nil {
		return nil, err
	}
	progress.Start(-1, "frontier")
	if r.Frontier, err = e.frontier(ctx, lambdas, own); err != nil {
		return nil, err
	}
	if r.Constants, err = e.constants(); err != nil {
		return nil, err
	}
	if p.Findings {
		if err := e.findings(ctx, rt, r, lambdas, progress); err != nil {
			return nil, err
		}
	}
	if m := e.pairMap(lambdas); m != nil {
		r.Figures = append(r.Figures, *m)
	}
	progress.Done()
	return r, nil
}

// begin is the report before there are results: its settings, and notes on the rows.
func (e *evaluation) begin(lambdas []float64) *report.Report {
	r := &report.Report{Benchmark: "eval", Outcomes: e.t.OutcomesDigest(e.rows), Settings: map[string]string{
		"split": e.o.Split, "rows": fmt.Sprint(len(e.rows)), "training rows": fmt.Sprint(len(e.train)),
		"bootstrap resamples": fmt.Sprint(e.o.Resamples), "seed": fmt.Sprint(e.o.Seed),
	}}
	r.Caption(e.o.Own)
	r.Notes = append(e.cautions(lambdas), costs.RepeatNotes(costs.RepeatsIn(e.t, nil, slices.Compact([]costs.Split{costs.Train, e.o.split})...))...)
	if e.together.Len() < 2 {
		r.Notes = append(r.Notes, fmt.Sprintf("There are no intervals: all %d rows are one draw, and how much another would differ cannot be known.", len(e.rows)))
	}
	return r
}

// rank adds the methods at every lambda.
func (e *evaluation) rank(ctx context.Context, r *report.Report, lambdas []float64, progress stage.Progress) error {
	if err := e.decideAt(ctx, lambdas); err != nil {
		return err
	}
	progress.Start(int64(len(lambdas)), "evaluate")
	for _, l := range lambdas {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.regime(r, l); err != nil {
			return err
		}
		progress.Add(1)
	}
	return nil
}
