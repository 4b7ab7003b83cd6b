package pipeline

import "slices"

// settings returns the settings of the rows in the order in which they come; one empty name where there are none.
func (r *Report) settings() []string {
	names := []string{}
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Setting) {
			names = append(names, row.Setting)
		}
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// of returns the part of the report that is about one setting. Notes, settings and figures are about all of them and
// stay with the whole.
func (r *Report) of(setting string) *Report {
	return &Report{
		Benchmark:    r.Benchmark,
		Rows:         keep(r.Rows, func(v Row) bool { return v.Setting == setting }),
		Disclosure:   keep(r.Disclosure, func(v Disclosure) bool { return v.Setting == setting }),
		Experts:      keep(r.Experts, func(v ExpertQuality) bool { return v.Setting == setting }),
		BestAdvice:   keep(r.BestAdvice, func(v BestAdvice) bool { return v.Setting == setting }),
		Distribution: keep(r.Distribution, func(v AdviceShares) bool { return v.Setting == setting }),
		Cells:        keep(r.Cells, func(v CellTable) bool { return v.Setting == setting }),
	}
}

// join appends the part that is about one setting, and names it so.
func (r *Report) join(setting string, part *Report) {
	for _, v := range part.Rows {
		v.Setting = setting
		r.Rows = append(r.Rows, v)
	}
	for _, v := range part.Disclosure {
		v.Setting = setting
		r.Disclosure = append(r.Disclosure, v)
	}
	for _, v := range part.Experts {
		v.Setting = setting
		r.Experts = append(r.Experts, v)
	}
	for _, v := range part.BestAdvice {
		v.Setting = setting
		r.BestAdvice = append(r.BestAdvice, v)
	}
	for _, v := range part.Distribution {
		v.Setting = setting
		r.Distribution = append(r.Distribution, v)
	}
	for _, v := range part.Cells {
		v.Setting = setting
		r.Cells = append(r.Cells, v)
	}
}

// splits is the largest number of splits that a row is the mean of; 0 for a report on one.
func (r *Report) splits() int {
	most := 0
	for _, row := range r.Rows {
		most = max(most, row.Splits)
	}
	return most
}

// keep returns the values that wanted accepts, in their order.
func keep[T any](values []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range values {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}
