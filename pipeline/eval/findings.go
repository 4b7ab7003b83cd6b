package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models"
	"pipe/onnx/ort"
	"pipe/pipeline/findings"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// findings adds to the report what to deploy at every lambda, where that helps, examples, and a learning curve if it is asked
// for.
func (e *evaluation) findings(ctx context.Context, rt *ort.Runtime, r *report.Report, lambdas []float64, progress stage.Progress) error {
	f, err := e.evidence()
	if err != nil {
		return err
	}
	r.Money = f.Money
	progress.Start(int64(len(lambdas)), "verdict")
	for _, lambda := range lambdas {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.findAt(r, &f, lambda); err != nil {
			return err
		}
		progress.Add(1)
	}
	if !e.o.Texts.IsZero() {
		if err := e.o.texts(ctx, r); err != nil {
			return err
		}
	}
	if e.o.Learning {
		return e.learning(ctx, rt, r, &f, lambdas, progress)
	}
	return nil
}

// findAt adds the findings at one lambda.
func (e *evaluation) findAt(r *report.Report, f *findings.Evidence, lambda float64) error {
	p := findings.Preferred(e.policies(lambda))
	v, err := f.Verdict(lambda, p)
	if err != nil {
		return err
	}
	r.Verdict = append(r.Verdict, v)
	s, err := f.Segments(lambda, p)
	if s != nil {
		r.Segments = append(r.Segments, *s)
	}
	r.Examples = append(r.Examples, f.Examples(lambda, p, e.o.Examples)...)
	return err
}

// evidence is what answers are found in.
func (e *evaluation) evidence() (f findings.Evidence, err error) {
	f = findings.Evidence{
		Tensor: e.t, Rows: e.rows, Train: e.train, Together: e.together, TrainedOn: e.o.split == costs.Train,
		Today: -1, Resamples: e.o.Resamples, Seed: e.o.Seed,
	}
	if e.o.Today != "" {
		if f.Today, err = pairNamed(e.t.Actions, e.o.Today); err != nil {
			return f, err
		}
	}
	f.Money, err = costs.MoneyFor(e.t.Meta, e.o.Money)
	return f, err
}

// pairNamed is the pair of that name.
func pairNamed(a *costs.Actions, name string) (int, error) {
	i := slices.Index(a.Names(), name)
	if i >= 0 && a.Available(i) {
		return i, nil
	}
	var known []string
	for i, n := range a.Names() {
		if a.Available(i) {
			known = append(known, n)
		}
	}
	return 0, &stage.OptionError{Err: fmt.Errorf("today: there is no pair %q; known are %s", name, strings.Join(known, ", "))}
}

// policies are the policies that can be deployed at a lambda, in the order that they were given.
func (e *evaluation) policies(lambda float64) []findings.Policy {
	var served []entry
	for _, l := range e.learned {
		if m := e.method(l); m.Serves(l.Info.Lambda, lambda) && m.Role == models.RolePolicy {
			served = append(served, l)
		}
	}
	names := e.policyNames(served)
	var out []findings.Policy
	for i, l := range served {
		out = append(out, findings.Policy{
			Name: names[i], Method: l.Info.Method, Action: l.Action, Expected: l.Loss,
			GuardFell: e.guardFell(l), OtherTable: e.otherTable(l.Info.Info),
		})
	}
	return out
}

// guardFell reports whether the policy is what the guard fell back to.
func (e *evaluation) guardFell(l entry) bool {
	guard := l.Info.Guard
	for _, p := range e.anyPrice { // whose decisions at a lambda do not keep it
		if p.File == l.File && p.Info.Method == l.Info.Method {
			guard = p.prices.info.Guard
		}
	}
	return guard != nil && guard.Fallback
}
