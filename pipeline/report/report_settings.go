package report

import (
	"slices"

	"pipe/internal/lists"
)

// SettingNames returns the settings of the rows in their order; one empty name if there are none.
func (r *Report) SettingNames() []string {
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

// Of returns the part of the report for one setting. Notes, settings and figures are about all settings and are not
// included.
func (r *Report) Of(setting string) *Report {
	return &Report{
		Benchmark:    r.Benchmark,
		Money:        r.Money,
		Verdict:      lists.Keep(r.Verdict, func(v Verdict) bool { return v.Setting == setting }),
		Segments:     lists.Keep(r.Segments, func(v Segments) bool { return v.Setting == setting }),
		Examples:     lists.Keep(r.Examples, func(v Examples) bool { return v.Setting == setting }),
		Learning:     lists.Keep(r.Learning, func(v Learning) bool { return v.Setting == setting }),
		Cascades:     lists.Keep(r.Cascades, func(v Cascade) bool { return v.Setting == setting }),
		Rows:         lists.Keep(r.Rows, func(v Row) bool { return v.Setting == setting }),
		Frontier:     lists.Keep(r.Frontier, func(v FrontierPoint) bool { return v.Setting == setting }),
		Constants:    lists.Keep(r.Constants, func(v ConstantPoint) bool { return v.Setting == setting }),
		Calibration:  lists.Keep(r.Calibration, func(v Calibration) bool { return v.Setting == setting }),
		Disclosure:   lists.Keep(r.Disclosure, func(v Disclosure) bool { return v.Setting == setting }),
		Experts:      lists.Keep(r.Experts, func(v ExpertQuality) bool { return v.Setting == setting }),
		Answers:      lists.Keep(r.Answers, func(v AnswerQuality) bool { return v.Setting == setting }),
		BestAdvice:   lists.Keep(r.BestAdvice, func(v BestAdvice) bool { return v.Setting == setting }),
		Distribution: lists.Keep(r.Distribution, func(v AdviceShares) bool { return v.Setting == setting }),
		Cells:        lists.Keep(r.Cells, func(v CellTable) bool { return v.Setting == setting }),
		Pictures:     lists.Keep(r.Pictures, func(v PairPictures) bool { return v.Setting == setting }),
	}
}

// Join appends the part for one setting and sets its name.
func (r *Report) Join(setting string, part *Report) {
	if r.Money == nil {
		r.Money = part.Money
	}
	r.Verdict = appendAs(setting, r.Verdict, part.Verdict, func(v *Verdict) *string { return &v.Setting })
	r.Segments = appendAs(setting, r.Segments, part.Segments, func(v *Segments) *string { return &v.Setting })
	r.Examples = appendAs(setting, r.Examples, part.Examples, func(v *Examples) *string { return &v.Setting })
	r.Learning = appendAs(setting, r.Learning, part.Learning, func(v *Learning) *string { return &v.Setting })
	r.Cascades = appendAs(setting, r.Cascades, part.Cascades, func(v *Cascade) *string { return &v.Setting })
	r.Rows = appendAs(setting, r.Rows, part.Rows, func(v *Row) *string { return &v.Setting })
	r.Frontier = appendAs(setting, r.Frontier, part.Frontier, func(v *FrontierPoint) *string { return &v.Setting })
	r.Constants = appendAs(setting, r.Constants, part.Constants, func(v *ConstantPoint) *string { return &v.Setting })
	r.Calibration = appendAs(setting, r.Calibration, part.Calibration, func(v *Calibration) *string { return &v.Setting })
	r.Disclosure = appendAs(setting, r.Disclosure, part.Disclosure, func(v *Disclosure) *string { return &v.Setting })
	r.Experts = appendAs(setting, r.Experts, part.Experts, func(v *ExpertQuality) *string { return &v.Setting })
	r.Answers = appendAs(setting, r.Answers, part.Answers, func(v *AnswerQuality) *string { return &v.Setting })
	r.BestAdvice = appendAs(setting, r.BestAdvice, part.BestAdvice, func(v *BestAdvice) *string { return &v.Setting })
	r.Distribution = appendAs(setting, r.Distribution, part.Distribution, func(v *AdviceShares) *string { return &v.Setting })
	r.Cells = appendAs(setting, r.Cells, part.Cells, func(v *CellTable) *string { return &v.Setting })
	r.Pictures = appendAs(setting, r.Pictures, part.Pictures, func(v *PairPictures) *string { return &v.Setting })
}

// appendAs appends values to those of the whole report, with the name of their setting in the field that nameOf points
// at.
func appendAs[T any](setting string, whole, part []T, nameOf func(*T) *string) []T {
	for _, v := range part {
		*nameOf(&v) = setting
		whole = append(whole, v)
	}
	return whole
}

// splits is the largest number of splits that a row is averaged over; 0 for a report on one split.
func (r *Report) splits() int {
	most := 0
	for _, row := range r.Rows {
		most = max(most, row.Splits)
	}
	return most
}
