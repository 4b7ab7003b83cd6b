package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/internal/textfile"
)

// noAdvice is the name for the absence of advice where the data have none.
const noAdvice = "none"

// wanted reports whether an outcome of this expert and advice is kept. It is an
// error if a configured list lacks one of them.
func (m *importer) wanted(expert, advice string, hasAdvice bool) (bool, error) {
	c := m.config
	missing := ""
	switch {
	case expert == "":
		return false, errors.New("the expert is missing")
	case isObject(expert):
		return false, fmt.Errorf("the expert is the JSON object %s; name one of its fields with a path, such as %s.name", textfile.Quoted(expert), c.Outcomes.Columns.Expert)
	case isObject(advice):
		return false, fmt.Errorf("the advice is the JSON object %s; name one of its fields with a path, such as %s.name", textfile.Quoted(advice), c.Outcomes.Columns.Advice)
	case len(c.Experts) > 0 && !slices.Contains(c.Experts, expert):
		missing = fmt.Sprintf("expert %s is not listed", textfile.Quoted(expert))
	case hasAdvice && advice != "" && len(c.Advice) > 0 && !slices.Contains(c.Advice, advice):
		missing = fmt.Sprintf("advice %s is not listed", textfile.Quoted(advice))
	}
	if missing != "" && c.Base != nil && !c.IgnoreUnlisted {
		missing += ", or not in the tensor that rows are added to (pipe merge joins other experts and advice side by side)"
	}
	if missing != "" && !c.IgnoreUnlisted {
		return false, fmt.Errorf("%s; experts are %v, advice %v", missing, c.Experts, c.Advice)
	}
	return missing == "", nil
}

// isObject reports whether a name is an object of JSON lines, whose field was
// meant.
func isObject(name string) bool {
	return len(name) > 1 && name[0] == '{' && name[len(name)-1] == '}' && json.Valid([]byte(name))
}

// actions returns the action set and, per action, the number of its outcomes in
// the order of appearance, -1 for none.
func (m *importer) actions(ctx context.Context) (*costs.Actions, []int, error) {
	o := m.outcomes
	experts := m.config.Experts
	if len(experts) == 0 {
		experts = o.experts.List()
	}
	advice, err := m.adviceOrder()
	if err != nil {
		return nil, nil, asData(m.config.Outcomes.File.String(), err)
	}
	a := &costs.Actions{}
	for _, name := range experts {
		a.Experts = append(a.Experts, costs.Expert{Name: name})
	}
	for _, name := range advice {
		a.Advice = append(a.Advice, costs.Advice{Name: name})
	}
	if err := m.setFees(ctx, a); err != nil {
		return nil, nil, asData(m.config.Fees.File.String(), err)
	}
	for _, u := range m.config.Unavailable {
		p := costs.Pair{Expert: a.ExpertIndex(u.Expert), Advice: a.AdviceIndex(u.Advice)}
		if p.Expert < 0 || p.Advice < 0 {
			return nil, nil, &costs.DataError{Msg: fmt.Sprintf("unavailable pair %q with %q names no known expert or advice", u.Expert, u.Advice)}
		}
		a.Unavailable = append(a.Unavailable, p)
	}
	if err := a.Validate(); err != nil {
		return nil, nil, asData(m.config.Fees.File.String(), err)
	}
	return a, m.appearance(a), nil
}

// asData makes a data error of a plain error. The error of a file that cannot
// be opened is returned unchanged.
func asData(file string, err error) error {
	var data *costs.DataError
	var access *fs.PathError
	if errors.As(err, &data) || errors.As(err, &access) {
		return err
	}
	return &costs.DataError{File: file, Err: err}
}

// appearance maps every action to the number of its outcomes. An advice without
// a name is the absence of advice.
func (m *importer) appearance(a *costs.Actions) []int {
	o := m.outcomes
	order := make([]int, a.Len())
	for i := range order {
		j, k := a.Pair(i)
		expert, level := o.experts.Find(a.Experts[j].Name), o.advice.Find(a.Advice[k].Name)
		if k == 0 && level < 0 {
			level = o.advice.Find("")
		}
		order[i] = -1
		if expert >= 0 && level >= 0 {
			order[i] = expert*o.advice.Len() + level
		}
	}
	return order
}

// adviceOrder moves the absence of advice to the front.
func (m *importer) adviceOrder() ([]string, error) {
	seen := m.outcomes.advice
	has := func(name string) bool { return seen.Find(name) >= 0 }
	unnamed := has("")
	none := m.config.None
	if len(m.config.Advice) > 0 {
		none = m.config.Advice[0]
	}
	switch {
	case none == "" && (has(noAdvice) || unnamed):
		none = noAdvice
	case none == "":
		return nil, fmt.Errorf("none of the advice (%s) is called %q; say which one is the absence of advice with none", textfile.Listed(seen.List(), 12), noAdvice)
	}
	if has(none) && unnamed {
		return nil, fmt.Errorf("some outcomes have no advice name and some have advice %q", none)
	}
	if len(m.config.Advice) > 0 {
		return m.config.Advice, nil
	}
	if !has(none) && !unnamed {
		return nil, fmt.Errorf("advice %q does not appear; there are %s", none, textfile.Listed(seen.List(), 12))
	}
	order := []string{none}
	for _, name := range seen.List() {
		if name != none && name != "" {
			order = append(order, name)
		}
	}
	return order, nil
}

// expertNames lists the experts for an error.
func expertNames(a *costs.Actions) string {
	names := make([]string, len(a.Experts))
	for j, e := range a.Experts {
		names[j] = e.Name
	}
	return textfile.Listed(names, 12)
}

// setFees takes the fees from the file and from the configuration.
func (m *importer) setFees(ctx context.Context, a *costs.Actions) error {
	f := m.config.Fees
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		if a.ExpertIndex(name) < 0 {
			return &costs.DataError{File: m.config.Outcomes.File.String(), Msg: fmt.Sprintf("fees.models: unknown expert %q; there are %s", name, expertNames(a))}
		}
	}
	if f.File.IsZero() && f.Experts == nil && f.Advice == nil {
		return nil
	}
	var file costs.FeeList
	if !f.File.IsZero() {
		var err error
		if file, err = costs.ReadFees(ctx, f.File); err != nil {
			return err
		}
	}
	for name := range f.Experts {
		if a.ExpertIndex(name) < 0 {
			return fmt.Errorf("fees.experts: unknown expert %q; there are %s", name, expertNames(a))
		}
	}
	for name := range f.Advice {
		if a.AdviceIndex(name) < 0 {
			return fmt.Errorf("fees.advice: unknown advice %q", name)
		}
	}
	for j := range a.Experts {
		e := &a.Experts[j]
		if !lookupFee(&e.Fee, e.Name, f.Experts, file.Experts) {
			return fmt.Errorf("expert %q has no fee", e.Name)
		}
	}
	for k := range a.Advice {
		v := &a.Advice[k]
		if !lookupFee(&v.Fee, v.Name, f.Advice, file.Advice) && k > 0 {
			return fmt.Errorf("advice %q has no fee", v.Name)
		}
	}
	return nil
}

// lookupFee takes the fee from the first table that names it.
func lookupFee(fee *float64, name string, tables ...map[string]float64) bool {
	for _, t := range tables {
		if v, ok := t[name]; ok {
			*fee = v
			return true
		}
	}
	return false
}
