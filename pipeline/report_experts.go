package pipeline

import "slices"

// ExpertQuality tells how good one expert is under one advice on the reported rows, whatever the task loss hides. The
// positive label is the second one of the data; rates and probabilities lie in [0, 1].
type ExpertQuality struct {
	Setting          string   `json:"setting,omitempty"`
	Expert           string   `json:"expert"`
	Advice           string   `json:"advice"`
	Threshold        float64  `json:"threshold"` // the answer is positive from this probability on
	Accuracy         *float64 `json:"accuracy,omitempty"`
	BalancedAccuracy *float64 `json:"balanced_accuracy,omitempty"` // mean of the recalls of both labels
	AUC              *float64 `json:"auc,omitempty"`               // area under the receiver operating characteristic
	Recall           *float64 `json:"recall,omitempty"`            // of the positive label
	Precision        *float64 `json:"precision,omitempty"`         // of the positive label; absent if it is never answered
	Brier            *float64 `json:"brier,omitempty"`             // mean squared distance of probability and outcome
	ECE              *float64 `json:"ece,omitempty"`               // expected calibration error, ten equally wide bins
	MeanProbability  *float64 `json:"mean_probability,omitempty"`
	Rate             *float64 `json:"rate,omitempty"` // share of positive rows, beside the mean probability
}

// figures lists what an ExpertQuality measures, in the order of the table.
func (q *ExpertQuality) figures() []**float64 {
	return []**float64{
		&q.Accuracy, &q.BalancedAccuracy, &q.AUC, &q.Recall, &q.Precision, &q.Brier, &q.ECE, &q.MeanProbability, &q.Rate,
	}
}

var expertHead = []string{
	"expert", "advice", "threshold", "accuracy", "balanced", "AUC", "recall", "precision", "Brier", "ECE", "mean probability", "positive rate",
}

// expertTable has one line per expert and advice.
func (r *Report) expertTable() table {
	t := table{
		title: "Experts under every advice", left: 2, head: expertHead,
		caption: "On the reported rows. Balanced is the mean recall of both labels; recall and precision are those of the positive label; " +
			"ECE is the calibration error over ten bins. Balanced training makes the mean probability exceed the positive rate.",
	}
	for _, q := range r.Experts {
		cells := []string{q.Expert, q.Advice, number(&q.Threshold)}
		for _, v := range q.figures() {
			cells = append(cells, plusMinus(*v, nil))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// averageExperts averages the figures of the same expert and advice over splits; a figure that one split lacks is
// averaged over the others.
func averageExperts(splits [][]ExpertQuality) []ExpertQuality {
	type pair struct{ setting, expert, advice string }
	var out []ExpertQuality
	values := map[pair][][]float64{}
	for _, lines := range splits {
		for _, q := range lines {
			at := pair{q.Setting, q.Expert, q.Advice}
			if values[at] == nil {
				values[at] = make([][]float64, len(q.figures()))
				out = append(out, q)
			}
			for i, v := range q.figures() {
				if *v != nil {
					values[at][i] = append(values[at][i], **v)
				}
			}
		}
	}
	for n := range out {
		q := &out[n]
		for i, v := range q.figures() {
			if all := values[pair{q.Setting, q.Expert, q.Advice}][i]; len(all) > 0 {
				*v = Num(average(all))
			}
		}
	}
	return slices.Clip(out)
}
