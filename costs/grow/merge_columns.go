package grow

import (
	"fmt"
	"slices"

	"pipe/costs"
)

// settleColumns makes the columns of all inputs equal: it drops those that are
// named and fills those that the options fill. Another column that only some
// inputs have is an error.
func (m *merger) settleColumns() error {
	for _, name := range m.options.Drop {
		if err := CheckDrop(name); err != nil {
			return err
		}
	}
	for _, c := range optional {
		with, without := divide(m.inputs, func(in *input) bool { return *c.flag(&in.columns) })
		switch {
		case slices.Contains(m.options.Drop, c.name):
			for _, in := range with {
				*c.flag(&in.columns) = false
			}
		case len(with) == 0 || len(without) == 0:
		case !m.fills(c.name):
			return m.onlyInOne(c.name, with[0], without[0])
		default:
			for _, in := range without {
				*c.flag(&in.columns) = true
				in.time = m.options.FillTime.UnixMicro()
				if mayLack(c.name) {
					m.report.NoUsage = append(m.report.NoUsage, c.name+" of "+in.name)
				}
			}
		}
	}
	return m.settleFacts()
}

// fills reports whether a column is filled: by the options, or usage and propensities,
// which are then not known. Files of the same pairs with and without fees do not say that
// the calls of the latter were free.
func (m *merger) fills(column string) bool {
	switch column {
	case "fee":
		return m.options.FillFee && m.report.Mode == Pairs
	case "group":
		return m.options.FillGroup
	case "time":
		return !m.options.FillTime.IsZero()
	}
	return mayLack(column)
}

func divide(inputs []*input, has func(*input) bool) (with, without []*input) {
	for _, in := range inputs {
		if has(in) {
			with = append(with, in)
		} else {
			without = append(without, in)
		}
	}
	return with, without
}

func (m *merger) onlyInOne(column string, with, without *input) error {
	remedy := "pipe merge --drop " + column + " leaves it out of the result; otherwise add it to the other file"
	switch {
	case column == "fee" && m.report.Mode == Pairs:
		remedy = "pipe merge --fill-fee takes 0 for the other file, --drop fee leaves measured fees out of the result"
	case column == "fee" && m.options.FillFee:
		remedy = "both have the same pairs, so what is not known of their calls is not 0: --fill-fee is for other experts and advice; --drop fee leaves measured fees out of the result"
	case column == "fee":
		remedy = "pipe merge --drop fee leaves measured fees out of the result"
	case column == "group":
		remedy = "pipe merge --fill-group makes each row of the other file a group of its own, --drop group leaves groups out of the result"
	case column == "time":
		remedy = "pipe merge --fill-time TIME says when the outcomes of the other file were recorded, --drop time leaves times out of the result"
	}
	return &costs.DataError{File: with.path.String(), Column: column, Msg: fmt.Sprintf("is missing from %q; %s", without.path, remedy)}
}
