package pipeline

import (
	"slices"

	"pipe/costs/build"
)

// ExpertQuality tells how good one expert is under one advice on the reported rows, whatever the task loss hides.
type ExpertQuality struct {
	Setting string  `json:"setting,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // share of the positive label, beside the mean probability
	build.ExpertFigures
}

// figures lists what an ExpertQuality measures, in the order of the table.
func (q *ExpertQuality) figures() []**float64 {
	return []**float64{
		&q.Threshold, &q.Accuracy, &q.BalancedAccuracy, &q.AUC, &q.Recall, &q.Precision, &q.Brier, &q.CalibrationError, &q.MeanProbability,
	}
}

// expertTable has one line per expert and advice.
func (r *Report) expertTable() table {
	t := table{
		title: "Experts under every advice", left: 2,
		head: []string{
			"expert", "advice", "task loss", "threshold", "accuracy", "balanced", "AUC", "recall", "precision", "Brier", "calibration error",
			"mean probability", "positive rate",
		},
		caption: "On the reported rows. Balanced is the mean recall of the labels.",
	}
	for _, q := range r.Experts {
		cells := []string{q.Expert, q.Advice, plusMinus(&q.Loss, nil)}
		for _, v := range q.figures() {
			cells = append(cells, plusMinus(*v, nil))
		}
		rate := ""
		if q.MeanProbability != nil {
			rate, t.caption = plusMinus(&q.Rate, nil), probabilityCaption
		}
		t.rows = append(t.rows, append(cells, rate))
	}
	t.dropEmpty()
	return t
}

const probabilityCaption = "On the reported rows. Balanced is the mean recall of both labels; recall and precision are those of the positive label, which " +
	"is answered from the threshold on; the calibration error is over ten bins. Training with balanced classes lifts the mean " +
	"probability above the positive rate."

// averageExperts averages the figures of the same expert and advice over splits; a figure that one split lacks is
// averaged over the others.
func averageExperts(splits [][]ExpertQuality) []ExpertQuality {
	type pair struct{ setting, expert, advice string }
	var order []pair
	all := map[pair][]ExpertQuality{}
	for _, lines := range splits {
		for _, q := range lines {
			at := pair{q.Setting, q.Expert, q.Advice}
			if all[at] == nil {
				order = append(order, at)
			}
			all[at] = append(all[at], q)
		}
	}
	var out []ExpertQuality
	for _, at := range order {
		out = append(out, averageExpert(all[at]))
	}
	return slices.Clip(out)
}

func averageExpert(of []ExpertQuality) ExpertQuality {
	mean := of[0]
	mean.Loss = average(each(of, func(q ExpertQuality) float64 { return q.Loss }))
	mean.Rate = average(each(of, func(q ExpertQuality) float64 { return q.Rate }))
	for i, v := range mean.figures() {
		var there []float64
		for n := range of {
			if w := *of[n].figures()[i]; w != nil {
				there = append(there, *w)
			}
		}
		if *v = nil; len(there) > 0 {
			*v = Num(average(there))
		}
	}
	return mean
}
