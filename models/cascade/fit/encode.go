package fit

import (
	"cmp"
	"slices"

	"pipe/costs"
	"pipe/models/cascade"
)

// labelFact is the fact by which answers agree.
const labelFact = "label"

// encodingOf is how a state is encoded, from what the training rows saw. Facts that no row knows have no column.
func encodingOf(t *costs.Tensor, rows, executed []int, values int) cascade.Encoding {
	e := cascade.Encoding{Dim: t.Dim}
	for _, i := range executed {
		for f, fact := range t.Facts {
			column := i*len(t.Facts) + f
			seen := seenOf(t, fact, rows, i)
			if len(seen) == 0 {
				continue
			}
			if len(seen) < len(rows) {
				e.Known = append(e.Known, column)
			}
			if fact.Values == nil {
				e.Numbers = append(e.Numbers, numberOf(column, seen))
				continue
			}
			for _, v := range frequent(seen, values) {
				e.Values = append(e.Values, cascade.Value{Column: column, Index: v})
			}
		}
	}
	if f := slices.IndexFunc(t.Facts, func(f costs.Facts) bool { return f.Name == labelFact && f.Values != nil }); f >= 0 {
		for at, i := range executed {
			for _, j := range executed[at+1:] {
				e.Agree = append(e.Agree, cascade.Agreement{A: i*len(t.Facts) + f, B: j*len(t.Facts) + f})
			}
		}
	}
	return e
}

// seenOf are the known values of a fact of a pair.
func seenOf(t *costs.Tensor, fact costs.Facts, rows []int, pair int) (out []float32) {
	for _, n := range rows {
		if v := fact.Data[n*t.Actions.Len()+pair]; v-v == 0 {
			out = append(out, v)
		}
	}
	return out
}

// numberOf fills what is not known with the median.
func numberOf(column int, seen []float32) cascade.Number {
	slices.Sort(seen)
	return cascade.Number{Column: column, Low: seen[0], High: seen[len(seen)-1], Fill: seen[len(seen)/2]}
}

// frequent are the most frequent values, ascending. Of two values one column is enough.
func frequent(seen []float32, most int) (out []int) {
	count := make(map[int]int)
	for _, v := range seen {
		count[int(v)]++
	}
	for v := range count {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	if len(out) == 2 {
		most = 1
	}
	out = out[:min(most, len(out))]
	slices.Sort(out)
	return out
}
