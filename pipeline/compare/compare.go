// Package compare says what differs between two reports (the verdicts, what every method and pair cost, and how well
// calibrated they were) and between two cost tensors.
package compare

import (
	"cmp"
	"slices"

	"pipe/pipeline/methods"
	"pipe/pipeline/report"
)

// Comparison is what differs between the reports A and B. It is the JSON object of pipe report --json. A side that a
// report lacks is null or empty.
type Comparison struct {
	Format      int           `json:"format"`
	A           Side          `json:"a"`
	B           Side          `json:"b"`
	SameRows    bool          `json:"same_rows"` // both are about the same outcomes
	Verdicts    []Verdict     `json:"verdicts,omitempty"`
	Methods     []Method      `json:"methods,omitempty"`
	Constants   []Constant    `json:"constants,omitempty"`
	Calibration []Calibration `json:"calibration,omitempty"`
	Settings    []Setting     `json:"settings,omitempty"` // those that differ
	Notes       []string      `json:"notes"`
}

// Side is one of the reports.
type Side struct {
	File      string `json:"file"`
	Title     string `json:"title"`
	Benchmark string `json:"benchmark"`
	Outcomes  string `json:"outcomes,omitempty"` // costs.Tensor.OutcomesDigest of the reported rows
}

// Verdict is what both reports recommend at one lambda.
type Verdict struct {
	Setting string  `json:"setting,omitempty"`
	Lambda  float64 `json:"lambda"`
	Changed bool    `json:"changed"` // what to deploy is another method or pair, or a constant in only one report
	A       *Advice `json:"a"`
	B       *Advice `json:"b"`
}

// Advice is what one report recommends.
type Advice struct {
	Deploy   string `json:"deploy"` // report.DeployPolicy, report.DeployConstant or report.DeployNothing
	What     string `json:"what"`   // the policy's file, or the constant
	Sentence string `json:"sentence"`
	// Saved is the saving per request against the best fixed pair of the training rows; nil: that is what to deploy.
	Saved *report.Interval `json:"saved,omitempty"`

	method string
}

// Method is the mean true loss of a method at one lambda.
type Method struct {
	Setting string   `json:"setting,omitempty"`
	Method  string   `json:"method"`
	Lambda  *float64 `json:"lambda,omitempty"`
	A       *float64 `json:"a"`
	B       *float64 `json:"b"`
	Change  *float64 `json:"change"` // B - A
	PairA   string   `json:"pair_a,omitempty"`
	PairB   string   `json:"pair_b,omitempty"`
}

// Constant is what one pair loses and spends if it is used for every row.
type Constant struct {
	Setting string   `json:"setting,omitempty"`
	Pair    string   `json:"pair"`
	LossA   *float64 `json:"loss_a"`
	LossB   *float64 `json:"loss_b"`
	Loss    *float64 `json:"loss_change"`
	MoneyA  *float64 `json:"money_a"`
	MoneyB  *float64 `json:"money_b"`
	Money   *float64 `json:"money_change"`
}

// Calibration is the calibration error of a policy, matched by its file name.
type Calibration struct {
	Setting string   `json:"setting,omitempty"`
	Policy  string   `json:"policy"`
	A       *float64 `json:"a"`
	B       *float64 `json:"b"`
	Change  *float64 `json:"change"`
}

// Setting is a setting that differs.
type Setting struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Reports compares two reports that were read from files of these names.
func Reports(fileA, fileB string, a, b *report.Report) *Comparison {
	c := &Comparison{
		Format: 1, A: side(fileA, a), B: side(fileB, b),
		SameRows: a.Outcomes != "" && a.Outcomes == b.Outcomes,
		Verdicts: verdicts(a, b), Methods: ranked(a, b), Constants: constants(a, b), Calibration: calibration(a, b),
		Settings: settings(a.Settings, b.Settings),
	}
	c.Notes = c.notes()
	return c
}

func side(file string, r *report.Report) Side {
	return Side{File: file, Title: r.Title, Benchmark: r.Benchmark, Outcomes: r.Outcomes}
}

// notes say how far the figures of the two reports can be compared.
func (c *Comparison) notes() []string {
	if c.SameRows {
		return []string{"Both reports are about the same outcomes. They do not hold single rows, so changes have no interval here: " +
			"for one, give the policies of both to one pipe eval."}
	}
	return []string{"The reports are about different rows or outcomes, so a change can come from the rows as well as from the policy. " +
		"Compare savings against constants, which each report measures on its own rows."}
}

// pairUp matches the items of two lists by key, in the order of a, then of b alone.
func pairUp[T any, K comparable](a, b []T, key func(T) K) (pairs [][2]*T) {
	at := map[K]int{}
	for i := range a {
		if _, seen := at[key(a[i])]; !seen {
			at[key(a[i])] = len(pairs)
			pairs = append(pairs, [2]*T{&a[i], nil})
		}
	}
	for i := range b {
		k, seen := at[key(b[i])]
		switch {
		case !seen:
			at[key(b[i])] = len(pairs)
			pairs = append(pairs, [2]*T{nil, &b[i]})
		case pairs[k][1] == nil:
			pairs[k][1] = &b[i]
		}
	}
	return pairs
}

// either returns the item that exists, the first if both do.
func either[T any](p [2]*T) *T {
	if p[0] != nil {
		return p[0]
	}
	return p[1]
}

// value returns a figure of an item, nil if there is no item.
func value[T any](v *T, of func(*T) float64) *float64 {
	if v == nil {
		return nil
	}
	f := of(v)
	return &f
}

// change is b - a, nil if one of them is missing.
func change(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	d := *b - *a
	return &d
}

func verdicts(a, b *report.Report) (out []Verdict) {
	type key struct {
		setting string
		lambda  float64
	}
	for _, p := range pairUp(a.Verdicts(), b.Verdicts(), func(v report.Verdict) key { return key{v.Setting, v.Lambda} }) {
		one := either(p)
		v := Verdict{Setting: one.Setting, Lambda: one.Lambda, A: advice(p[0]), B: advice(p[1])}
		v.Changed = v.A == nil || v.B == nil || v.A.Deploy != v.B.Deploy || v.A.method != v.B.method
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(a.Setting, b.Setting), cmp.Compare(a.Lambda, b.Lambda))
	})
	return out
}

func advice(v *report.Verdict) *Advice {
	if v == nil {
		return nil
	}
	a := &Advice{Deploy: v.Deploy, Sentence: v.Sentence}
	switch v.Deploy {
	case report.DeployPolicy:
		a.What, a.method = v.Policy, v.Method
	case report.DeployConstant:
		a.What, a.method = v.Pair, v.Pair
	}
	for _, s := range v.Savings {
		if slices.Contains(s.Against, report.AgainstFixed) {
			a.Saved = &s.Cost
		}
	}
	return a
}

// ranked has the methods of both reports, with the largest number of training rows where there are several.
func ranked(a, b *report.Report) (out []Method) {
	for _, p := range pairUp(largest(a.Rows), largest(b.Rows), report.Row.Key) {
		loss := func(r *report.Row) float64 { return r.TrueLossMean }
		m := Method{A: value(p[0], loss), B: value(p[1], loss)}
		for i, r := range p {
			if r == nil {
				continue
			}
			m.Setting, m.Method, m.Lambda = r.Setting, r.Method, r.Lambda
			*[]*string{&m.PairA, &m.PairB}[i] = r.Pair
		}
		m.Change = change(m.A, m.B)
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Method) int {
		return cmp.Or(cmp.Compare(a.Setting, b.Setting), cmp.Compare(lambdaOf(a), lambdaOf(b)), cmp.Compare(methods.Rank(a.Method), methods.Rank(b.Method)))
	})
	return out
}

func lambdaOf(m Method) float64 {
	if m.Lambda == nil {
		return -1
	}
	return *m.Lambda
}

// largest are the rows sorted by falling number of training rows, so that the first of each key has the most.
func largest(rows []report.Row) []report.Row {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b report.Row) int { return cmp.Compare(b.N, a.N) })
	return sorted
}

func constants(a, b *report.Report) (out []Constant) {
	loss := func(p *report.ConstantPoint) float64 { return p.Loss }
	money := func(p *report.ConstantPoint) float64 { return p.Money }
	for _, p := range pairUp(a.Constants, b.Constants, func(c report.ConstantPoint) [2]string { return [2]string{c.Setting, c.Pair} }) {
		c := Constant{LossA: value(p[0], loss), LossB: value(p[1], loss), MoneyA: value(p[0], money), MoneyB: value(p[1], money)}
		one := either(p)
		c.Setting, c.Pair = one.Setting, one.Pair
		c.Loss, c.Money = change(c.LossA, c.LossB), change(c.MoneyA, c.MoneyB)
		out = append(out, c)
	}
	return out
}

func calibration(a, b *report.Report) (out []Calibration) {
	err := func(c *report.Calibration) float64 { return c.Error }
	for _, p := range pairUp(a.Calibration, b.Calibration, func(c report.Calibration) [2]string { return [2]string{c.Setting, c.Policy} }) {
		c := Calibration{A: value(p[0], err), B: value(p[1], err)}
		one := either(p)
		c.Setting, c.Policy = one.Setting, one.Policy
		c.Change = change(c.A, c.B)
		out = append(out, c)
	}
	return out
}

// settings are those whose values differ, by name.
func settings(a, b map[string]string) (out []Setting) {
	for _, m := range []map[string]string{a, b} {
		for name := range m {
			s := Setting{name, a[name], b[name]}
			if s.A != s.B && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
