package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/costs/build"
	"pipe/models"
)

// evaluate returns the report on one setting of a split: the tables of every evaluation, the constant answer, the known
// optimum where there is one, disclosure and experts.
func (x *fraudSetting) evaluate(ctx context.Context, cfg build.Config, train stage) (*Report, error) {
	left, err := train.files()
	if err != nil {
		return nil, err
	}
	inputs := map[string]string{
		"costs": train.inputs["costs"], "runtime": x.engine(), "format": "1",
		"options": digestJSON(x.evalOptions()), "groups": digestJSON(x.openedGroups()), "world": digestJSON(x.c.Data.Generate),
	}
	for _, f := range left {
		if inputs[f], err = costs.FileDigest(ctx, filepath.Join(x.folder, f)); err != nil {
			return nil, err
		}
	}
	file := "eval-" + x.s.Name + ".json"
	s := stage{folder: x.folder, name: "eval-" + x.s.Name, inputs: inputs}
	err = s.run(ctx, func() ([]string, error) {
		r, err := x.judge(ctx, cfg, keep(left, func(f string) bool { return filepath.Ext(f) == ".onnx" }))
		if err != nil {
			return nil, err
		}
		return []string{file}, WriteFile(filepath.Join(x.folder, file), r.WriteJSON)
	})
	if err != nil {
		return nil, err
	}
	in, err := os.Open(filepath.Join(x.folder, file))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return ReadReport(in)
}

func (x *fraudSetting) evalOptions() EvalOptions {
	o := DefaultEvalOptions()
	o.Lambdas, o.KNN, o.Resamples, o.Seed = x.s.Train.Lambdas, x.c.KNN, x.c.Resample, x.s.Train.Seed
	return o
}

// judge does the work of evaluate for the policies in some files, named from the folder.
func (x *fraudSetting) judge(ctx context.Context, cfg build.Config, policies []string) (*Report, error) {
	t, err := costs.Read(filepath.Join(x.folder, x.tensorFile()), costs.ReadOptions{})
	if err != nil {
		return nil, err
	}
	o := x.evalOptions()
	o.Tensor = x.tensorFile()
	rows := t.Rows(costs.Val)
	var learned []Learned
	for _, f := range policies {
		l, err := openLearned(ctx, x.rt, filepath.Join(x.folder, f), t, rows)
		if err != nil {
			return nil, err
		}
		learned = append(learned, l)
	}
	r, err := EvalTensor(ctx, x.rt, t, learned, o, x.progress)
	if err != nil {
		return nil, err
	}
	r.Settings["task loss"], r.Settings["training rows judged"] = x.s.TaskLoss.Kind, x.judged()
	r.Settings["recipe"] = x.s.Train.Recipe
	if err := x.addExperts(ctx, r, cfg, len(t.Rows(costs.Train))); err != nil {
		return nil, err
	}
	x.addDisclosure(r, t, rows, learned)
	return r, x.addOptimum(ctx, r, t, rows, learned)
}

// judged says which experts answered for training rows.
func (x *fraudSetting) judged() string {
	if x.s.CrossFit == 0 {
		return "in-sample"
	}
	return fmt.Sprintf("by experts of the other folds, %d folds", x.s.CrossFit)
}

// addExperts adds the figures of the experts, and the constant answer, which costs the same at every lambda, as a method.
func (x *fraudSetting) addExperts(ctx context.Context, r *Report, cfg build.Config, train int) error {
	q, err := build.Diagnose(ctx, cfg, x.buildOptions())
	if err != nil {
		return err
	}
	for _, e := range q.Experts {
		r.Experts = append(r.Experts, ExpertQuality{Rate: q.Rate, ExpertFigures: e})
	}
	for _, c := range q.Constants {
		if c.Label != x.rows.schema.Labels[0] {
			continue
		}
		for _, l := range x.s.Train.Lambdas {
			r.Rows = append(r.Rows, Row{Method: AlwaysLegitimate, Lambda: Num(l), N: train, Seeds: 1, TrueLossMean: c.Loss, AdviceRate: Num(0)})
		}
	}
	return nil
}

// addDisclosure adds the disclosure report of the methods that choose among all pairs, and of the deployable constant.
func (x *fraudSetting) addDisclosure(r *Report, t *costs.Tensor, rows []int, learned []Learned) {
	groups := x.openedGroups()
	for _, lambda := range x.s.Train.Lambdas {
		for _, method := range compositeMethods {
			seeds := keep(learned, func(l Learned) bool { return l.Info.Method == method && l.Info.Lambda == lambda })
			if len(seeds) > 0 {
				r.Disclosure = append(r.Disclosure, disclosureOf(t, rows, seeds, lambda, groups)...)
			}
		}
		r.Disclosure = append(r.Disclosure, disclosureOf(t, rows, []Learned{bestFixedTrain(t, len(rows), lambda)}, lambda, groups)...)
	}
}

// bestFixedTrain is the deployable constant as if a policy had decided it: scores are minus the mean training cost.
func bestFixedTrain(t *costs.Tensor, n int, lambda float64) Learned {
	s := costs.Summarize(t, t.Rows(costs.Train), lambda)
	l := Learned{Info: &models.PolicyInfo{Method: "best_fixed_train", Lambda: lambda, Fixed: s.Best}, Action: slices.Repeat([]int{s.Best}, n)}
	scores := make([]float32, len(s.Cost))
	for i, c := range s.Cost {
		scores[i] = float32(-c)
	}
	l.Scores = slices.Repeat(scores, n)
	return l
}
