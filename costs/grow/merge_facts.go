package grow

import (
	"fmt"
	"slices"

	"pipe/costs"
)

// settleFacts gives all inputs the same facts, without those that are dropped. A fact that a file lacks is not known of
// its rows.
func (m *merger) settleFacts() error {
	all := slices.DeleteFunc(factsOf(m.inputs...), func(f costs.Fact) bool { return slices.Contains(m.options.Drop, f.Column()) })
	for _, f := range all {
		var first *input
		for _, in := range m.inputs {
			switch place, found := findFact(in.columns.Facts, f.Name); {
			case !found:
				m.report.NoUsage = append(m.report.NoUsage, f.Column()+" of "+in.name)
			case first == nil:
				first = in
			case in.columns.Facts[place].Kind() != f.Kind():
				return &costs.DataError{
					File: in.path.String(), Column: f.Column(),
					Msg: fmt.Sprintf("has %s, but %s in %q; pipe merge --drop %s leaves it out of the result", in.columns.Facts[place].Kind(), f.Kind(), first.path, f.Column()),
				}
			}
		}
	}
	for _, in := range m.inputs {
		in.columns.Facts = all
	}
	return nil
}

// spreadFacts gives wide rows the facts of rows of the first file, and returns builders for those of the other files.
func (m *merger) spreadFacts(wide *costs.Tensor) (builders []costs.FactBuilder, err error) {
	narrow, width, pairs := wide.Facts, m.layout.actions.Len(), m.layout.at[0]
	wide.Facts = make([]costs.Facts, len(narrow))
	for i, f := range narrow {
		wide.Facts[i] = costs.NewFacts(f.Fact, wide.Len()*width)
		builders = append(builders, costs.NewFactBuilder(&wide.Facts[i]))
		for y := range f.Data {
			if err := builders[i].Copy(y/len(pairs)*width+pairs[y%len(pairs)], &f, y); err != nil {
				return nil, err
			}
		}
	}
	return builders, nil
}
