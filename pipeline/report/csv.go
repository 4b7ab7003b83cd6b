package report

import (
	"encoding/csv"
	"io"
)

// WriteDisclosureCSV writes the disclosure, one line each at full precision; a figure that does not apply is an empty
// field.
func (r *Report) WriteDisclosureCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"setting", "method", "lambda", "group", "opened", "gross", "net", "true_loss", "true_loss_without"})
	for _, d := range r.Disclosure {
		_ = c.Write([]string{
			d.Setting, d.Method, exact(&d.Lambda), d.Group, exact(&d.Opened), exact(d.Gross), exact(d.Net), exact(&d.TrueLoss), exact(d.Without),
		})
	}
	c.Flush() // csv.Writer keeps the first error of every Write above
	return c.Error()
}

// WriteExpertCSV writes the quality of the experts, one line each at full precision.
func (r *Report) WriteExpertCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{
		"setting", "expert", "advice", "task_loss", "threshold", "accuracy", "balanced_accuracy", "auc", "recall", "precision", "brier",
		"calibration_error", "mean_probability", "rate",
	})
	for _, q := range r.Experts {
		record := []string{q.Setting, q.Expert, q.Advice, exact(&q.Loss)}
		for _, v := range q.Figures() {
			record = append(record, exact(*v))
		}
		_ = c.Write(append(record, exact(&q.Rate)))
	}
	c.Flush()
	return c.Error()
}
