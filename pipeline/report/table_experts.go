package report

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
		cells := []string{q.Expert, q.Advice, PlusMinus(&q.Loss, nil)}
		for _, v := range q.Figures() {
			cells = append(cells, PlusMinus(*v, nil))
		}
		rate := ""
		if q.MeanProbability != nil {
			rate, t.caption = PlusMinus(&q.Rate, nil), probabilityCaption
		}
		t.rows = append(t.rows, append(cells, rate))
	}
	t.dropEmpty()
	return t
}

const probabilityCaption = "On the reported rows. Balanced is the mean recall of both labels; recall and precision are those of the positive label, which " +
	"is answered from the threshold on; the calibration error is over ten bins. Training with balanced classes lifts the mean " +
	"probability above the positive rate."
