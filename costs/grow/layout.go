package grow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
)

// layout is the actions of a result, and where those of every file are in it.
type layout struct {
	actions         *costs.Actions
	experts, advice map[string]int // positions by name
	at              [][]int        // per file and action of the file, the action of the result
}

// newLayout puts the experts and the advice of all files side by side, in the
// order of their first appearance. A pair is available if one of the files has
// it. Fees must agree where they are not replaced.
func newLayout(inputs []*input, fees costs.FeeList) (*layout, error) {
	l := &layout{actions: &costs.Actions{}, experts: map[string]int{}, advice: map[string]int{}}
	none := inputs[0].actions.Advice[0].Name
	for _, in := range inputs {
		if name := in.actions.Advice[0].Name; name != none {
			return nil, &costs.DataError{File: in.path.String(), Column: costs.ActionsKey, Msg: fmt.Sprintf("the absence of advice is called %q, but %q in %q", name, none, inputs[0].path)}
		}
		l.add(in.actions)
	}
	if err := l.setFees(fees); err != nil {
		return nil, err
	}
	l.place(inputs)
	for _, in := range inputs {
		if err := l.sameFees(in, inputs[0], fees); err != nil {
			return nil, err
		}
	}
	if err := l.actions.Validate(); err != nil {
		return nil, &costs.DataError{Msg: "the result", Err: err}
	}
	return l, nil
}

// add adds the experts and the advice of a file that are new.
func (l *layout) add(a *costs.Actions) {
	for _, e := range a.Experts {
		if _, known := l.experts[e.Name]; !known {
			l.experts[e.Name] = len(l.actions.Experts)
			l.actions.Experts = append(l.actions.Experts, e)
		}
	}
	for _, v := range a.Advice {
		if _, known := l.advice[v.Name]; !known {
			l.advice[v.Name] = len(l.actions.Advice)
			l.actions.Advice = append(l.actions.Advice, v)
		}
	}
}

// place maps the actions of the files, and finds the pairs that no file has.
func (l *layout) place(inputs []*input) {
	available := make([]bool, l.actions.Len())
	for f, in := range inputs {
		a := in.actions
		at := make([]int, a.Len())
		for i := range at {
			j, k := a.Pair(i)
			at[i] = l.actions.Index(l.experts[a.Experts[j].Name], l.advice[a.Advice[k].Name])
		}
		l.at = append(l.at, at)
		l.mark(f, a.Mask(), available)
	}
	for i, there := range available {
		if j, k := l.actions.Pair(i); !there {
			l.actions.Unavailable = append(l.actions.Unavailable, costs.Pair{Expert: j, Advice: k})
		}
	}
}

// setFees replaces fees; an unknown name is an error.
func (l *layout) setFees(fees costs.FeeList) error {
	set := func(kind string, named map[string]float64, index map[string]int, fee func(i int) *float64) error {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			i, known := index[name]
			if !known {
				return &costs.DataError{Column: costs.ActionsKey, Msg: fmt.Sprintf("fee of %s %q: the files have no such %s", kind, name, kind)}
			}
			*fee(i) = named[name]
		}
		return nil
	}
	if err := set("expert", fees.Experts, l.experts, func(j int) *float64 { return &l.actions.Experts[j].Fee }); err != nil {
		return err
	}
	return set("advice", fees.Advice, l.advice, func(k int) *float64 { return &l.actions.Advice[k].Fee })
}

// sameFees compares the fees of a file with those of the result, except for
// those that are replaced.
func (l *layout) sameFees(in, first *input, fees costs.FeeList) error {
	var list []string
	compare := func(kind, name string, fee, want float64, replaced map[string]float64) {
		if _, set := replaced[name]; !set && fee != want {
			list = append(list, fmt.Sprintf("%s %q %g, before %g", kind, name, fee, want))
		}
	}
	for _, e := range in.actions.Experts {
		compare("expert", e.Name, e.Fee, l.actions.Experts[l.experts[e.Name]].Fee, fees.Experts)
	}
	for _, v := range in.actions.Advice {
		compare("advice", v.Name, v.Fee, l.actions.Advice[l.advice[v.Name]].Fee, fees.Advice)
	}
	if len(list) == 0 {
		return nil
	}
	const most = 8
	return &costs.DataError{
		File: in.path.String(), Column: costs.ActionsKey,
		Msg: fmt.Sprintf("fees differ from those of %q: %s; say which ones hold with --fee expert=NAME:FEE or --fees FILE", first.path, strings.Join(list[:min(most, len(list))], "; ")),
	}
}

// sameActions reports whether all files have the actions of the first, in its order.
func sameActions(inputs []*input) error {
	for _, in := range inputs[1:] {
		if err := in.actions.SameSet(inputs[0].actions); err != nil {
			return &costs.DataError{File: in.path.String(), Column: costs.ActionsKey, Msg: fmt.Sprintf("differs from %q", inputs[0].path), Err: err}
		}
	}
	return nil
}

// spread puts the values of file f, width of a row, into the places of the
// result.
func spread[T any](l *layout, f int, from, to []T) {
	at := l.at[f]
	rows := len(from) / len(at)
	wide := l.actions.Len()
	for n := range rows {
		for i, v := range from[n*len(at) : (n+1)*len(at)] {
			to[n*wide+at[i]] = v
		}
	}
}

// mark sets the places of the available pairs of file f.
func (l *layout) mark(f int, mask, there []bool) {
	for i, available := range mask {
		if available {
			there[l.at[f][i]] = true
		}
	}
}
