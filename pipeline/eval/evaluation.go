package eval

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/pipeline/methods"
)

// evaluation is a plan on a tensor and decisions.
type evaluation struct {
	t           *costs.Tensor
	o           *plan
	learned     []entry
	anyPrice    []entry  // which decide when the prices are known
	cascades    []played // that were played
	anyCascades []played // which are played when the prices are known
	rows, train []int
	together    costs.Clusters // of rows
	knn         *baseline.KNN
	digests     []string // of t, once it was needed
}

// newEvaluation sorts the policies, and finds the reported rows and those that belong together.
func newEvaluation(t *costs.Tensor, learned []entry, cascades []played, o *plan) (*evaluation, error) {
	e := &evaluation{t: t, o: o, rows: t.Rows(o.split), train: t.Rows(costs.Train)}
	for _, l := range learned {
		if l.prices != nil {
			e.anyPrice = append(e.anyPrice, l)
		} else {
			e.learned = append(e.learned, l)
		}
	}
	for _, c := range cascades {
		if c.prices != nil {
			e.anyCascades = append(e.anyCascades, c)
		} else {
			e.cascades = append(e.cascades, c)
		}
	}
	if len(e.rows) == 0 {
		return nil, &costs.DataError{File: o.Tensor.String(), Column: "split", Msg: fmt.Sprintf("no rows of split %s", o.split)}
	}
	e.together = t.Clusters(e.rows)
	return e, nil
}

// regimes are the lambdas of all policies that depend on it, ascending; 1 if there are none.
func (e *evaluation) regimes() []float64 {
	var out []float64
	for _, l := range slices.Concat(e.learned, e.anyPrice) {
		if !e.method(l).NoAdvice {
			out = append(out, l.Info.Lambda)
		}
	}
	for _, c := range slices.Concat(e.cascades, e.anyCascades) {
		out = append(out, c.info.Lambda)
	}
	if len(out) == 0 {
		out = []float64{1}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// method describes the method of a policy.
func (e *evaluation) method(l entry) models.Method { return methods.Named(l.Info.Method, e.o.Own...) }

func (e *evaluation) outcomes(lambda float64) ([]methodActions, error) {
	var outs []methodActions
	for _, l := range e.learned {
		if !e.method(l).Serves(l.Info.Lambda, lambda) {
			continue
		}
		i := slices.IndexFunc(outs, func(o methodActions) bool { return o.method == l.Info.Method })
		if i < 0 {
			i = len(outs)
			outs = append(outs, methodActions{method: l.Info.Method})
		}
		outs[i].actions = append(outs[i].actions, l.Action)
		outs[i].policies = append(outs[i].policies, l)
	}
	for _, c := range e.cascadesAt(lambda) {
		outs = append(outs, methodActions{method: c.method(), played: c})
	}
	outs, err := e.baselines(outs, lambda)
	if err != nil {
		return nil, err
	}
	if e.knn != nil {
		actions, _ := e.knn.Decide(lambda)
		outs = append(outs, methodActions{method: baseline.NameKNN, actions: [][]int{actions}})
	}
	return outs, nil
}

// decideAt adds the decisions of the any-price policies at every lambda of the report, and what any-price cascades do there.
func (e *evaluation) decideAt(ctx context.Context, lambdas []float64) error {
	for _, l := range e.anyPrice {
		for _, lambda := range lambdas {
			at, err := l.prices.at(ctx, l, e.t.Actions, lambda)
			if err != nil {
				return err
			}
			e.learned = append(e.learned, at)
		}
	}
	for _, lambda := range lambdas {
		at, err := e.anyCascadesAt(ctx, e.t.Actions, lambda)
		if err != nil {
			return err
		}
		e.cascades = append(e.cascades, at...)
	}
	return nil
}

// called is the name of a policy in notes.
func (e *evaluation) called(l entry) string {
	name := fmt.Sprintf("%s at lambda %g", l.Info.Method, l.Info.Lambda)
	if e.method(l).NoAdvice || l.prices != nil {
		name = l.Info.Method
	}
	if l.File == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", filepath.Base(l.File), name)
}

// policyNames are the names of the files of policies, with their folders where two have the same one. Policies in memory
// have their method and lambda.
func (e *evaluation) policyNames(policies []entry) []string {
	count := map[string]int{}
	for _, l := range policies {
		count[filepath.Base(l.File)]++
	}
	var names []string
	for _, l := range policies {
		name := l.File
		switch {
		case name == "" && l.Info.Method == methods.AnyPrice:
			name = methods.AnyPrice
		case name == "":
			name = e.called(l)
		case count[filepath.Base(name)] == 1:
			name = filepath.Base(name)
		}
		names = append(names, name)
	}
	return names
}

// otherTable reports whether the policy with this metadata was trained on another table than that of the report, whatever its prices.
func (e *evaluation) otherTable(info map[string]string) bool {
	trained := info[policy.OriginKey]
	if trained != "" && e.digests == nil {
		if e.digests = e.o.whole; e.digests == nil {
			e.digests = []string{e.t.Digest()}
		}
	}
	return trained != "" && !slices.Contains(e.digests, trained) && !slices.Contains(e.digests, info[policy.TableKey])
}

// hasFees reports whether any pair costs anything.
func (e *evaluation) hasFees() bool {
	for _, fee := range e.t.Actions.Fees(1) {
		if fee > 0 {
			return true
		}
	}
	for _, fee := range e.t.Fee {
		if fee > 0 {
			return true
		}
	}
	return false
}
