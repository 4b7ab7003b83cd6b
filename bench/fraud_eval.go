package bench

import (
	"context"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/internal/lists"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// completion adds the constant answer, the disclosure report and, if it exists, the known optimum.
func (x *fraudTrial) completion() completion {
	return completion{
		inputs: map[string]string{"groups": stage.Digest(x.openedGroups()), "world": stage.Digest(x.c.Data.Generate)},
		add: func(ctx context.Context, r *report.Report, j *judged) error {
			r.Settings["training rows judged"] = x.judged()
			x.addConstant(r, j.experts.Constants, len(j.t.Rows(costs.Train)))
			x.addDisclosure(r, j.t, j.rows, j.learned)
			return x.addOptimum(ctx, r, j.t, j.rows, j.learned)
		},
	}
}

// judged describes the experts that answered for training rows.
func (x *fraudTrial) judged() string {
	if x.s.CrossFit == 0 {
		return "in-sample"
	}
	return fmt.Sprintf("by experts of the other folds, %d folds", x.s.CrossFit)
}

// addConstant adds the negative answer, which costs the same at every lambda, as a method.
func (x *fraudTrial) addConstant(r *report.Report, constants []builder.ConstantFigures, train int) {
	for _, c := range constants {
		if c.Label != x.rows.Schema.Labels[0] {
			continue
		}
		for _, l := range x.s.Train.Lambdas {
			r.Rows = append(r.Rows, report.Row{Method: methods.AlwaysLegitimate, Lambda: report.Num(l), N: train, Seeds: 1, TrueLossMean: c.Loss, AdviceRate: report.Num(0)})
		}
	}
}

// addDisclosure adds the disclosure report of the methods that choose among all pairs, and of the deployable constant.
func (x *fraudTrial) addDisclosure(r *report.Report, t *costs.Tensor, rows []int, learned []replay.Decisions) {
	groups := x.openedGroups()
	for _, lambda := range x.s.Train.Lambdas {
		for _, method := range methods.Composite() {
			seeds := lists.Keep(learned, func(l replay.Decisions) bool { return l.Info.Method == method && l.Info.Lambda == lambda })
			if len(seeds) > 0 {
				r.Disclosure = append(r.Disclosure, disclosureOf(t, rows, seeds, lambda, groups)...)
			}
		}
		r.Disclosure = append(r.Disclosure, disclosureOf(t, rows, []replay.Decisions{bestFixedTrain(t, len(rows), lambda)}, lambda, groups)...)
	}
}

// bestFixedTrain is the deployable constant in the form of a policy's decisions: scores are minus the mean training
// cost.
func bestFixedTrain(t *costs.Tensor, n int, lambda float64) replay.Decisions {
	s := costs.Summarize(t, t.Rows(costs.Train), lambda)
	l := replay.Decisions{Info: &policy.Info{Method: baseline.BestFixedTrain, Lambda: lambda, Fixed: s.Best}, Action: slices.Repeat([]int{s.Best}, n)}
	scores := make([]float32, len(s.Cost))
	for i, c := range s.Cost {
		scores[i] = float32(-c)
	}
	l.Scores = slices.Repeat(scores, n)
	return l
}
