package report

import (
	"encoding/csv"
	"fmt"
	"io"

	"pipe/pipeline/methods"
)

// WriteFrontierCSV writes the points of the frontier, one line each at full precision; a value that does not apply is an
// empty field.
func (r *Report) WriteFrontierCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	most := mostExecuted(r.Frontier)
	head := []string{
		"setting", "method", "lambda", "expert_factor", "scale", "pair", "loss", "loss_low", "loss_high", "money", "money_low", "money_high", "true_loss",
		"diff_best_fixed_train", "diff_best_fixed_train_low", "diff_best_fixed_train_high", "own", "regret", "regret_low", "regret_high",
	}
	for n := range most {
		head = append(head, fmt.Sprintf("share_%d", n+1))
	}
	_ = c.Write(head)
	ends := func(v *Interval) []string { return intervalFields(v)[1:] }
	for _, p := range r.Frontier {
		record := append([]string{p.Setting, p.Method, exact(&p.Lambda), exact(&p.ExpertFactor), exact(p.Scale), p.Pair, exact(&p.Loss)}, ends(p.LossInterval)...)
		record = append(append(record, exact(&p.Money)), ends(p.MoneyInterval)...)
		record = append(append(record, exact(&p.TrueLoss)), intervalFields(p.DiffConstant)...)
		record = append(append(record, p.Own), intervalFields(p.Regret)...)
		for n := range most {
			share := ""
			if n < len(p.Share) {
				share = exact(&p.Share[n])
			}
			record = append(record, share)
		}
		_ = c.Write(record)
	}
	c.Flush()
	return c.Error()
}

// WriteConstantsCSV writes what every pair loses and spends, one line each at full precision.
func (r *Report) WriteConstantsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"setting", "pair", "loss", "loss_low", "loss_high", "money", "money_low", "money_high"})
	for _, p := range r.Constants {
		record := append([]string{p.Setting, p.Pair, exact(&p.Loss)}, intervalFields(p.LossInterval)[1:]...)
		_ = c.Write(append(append(record, exact(&p.Money)), intervalFields(p.MoneyInterval)[1:]...))
	}
	c.Flush()
	return c.Error()
}

// WriteCalibrationCSV writes the calibration: one line per policy, of which the others are parts, per lambda at which it
// chose pairs, per pair, and per bin of the reliability diagram. They are at full precision; a value that does not apply
// is an empty field.
func (r *Report) WriteCalibrationCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"setting", "policy", "part", "lambda", "pair", "bin", "count", "estimate", "loss", "error", "diff", "diff_low", "diff_high"})
	for _, p := range r.Calibration {
		means := func(part, pair string, lambda *float64, m CalibrationMeans) {
			record := []string{p.Setting, p.Policy, part, exact(lambda), pair, "", positive(p.Rows), exact(&m.Estimate), exact(&m.Loss), exact(&m.Error)}
			_ = c.Write(append(record, intervalFields(m.Diff)...))
		}
		_ = c.Write([]string{p.Setting, p.Policy, "all", "", "", "", positive(p.Estimates), "", "", exact(&p.Error), "", "", ""})
		for _, v := range p.Chosen {
			means("chosen", "", &v.Lambda, v.CalibrationMeans)
		}
		for _, v := range p.Pairs {
			means("pair", v.Pair, nil, v.CalibrationMeans)
		}
		for i, b := range p.Bins {
			_ = c.Write([]string{p.Setting, p.Policy, "bin", "", "", fmt.Sprint(i), positive(b.Count), exact(&b.Estimate), exact(&b.Loss), "", "", "", ""})
		}
	}
	c.Flush()
	return c.Error()
}

// WriteDisclosureCSV writes the disclosure, one line each at full precision; a value that does not apply is an empty
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

// WriteCSV writes the rows, one line each, at full precision; a value that does not apply is an empty field.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{
		"benchmark", "method", "lambda", "n", "seeds", "pair", "true_loss_mean", "true_loss_std", "excess_mean",
		"excess_std", "diff_best_fixed", "diff_best_fixed_low", "diff_best_fixed_high", "diff_l2d", "diff_l2d_low", "diff_l2d_high",
		"advice_rate", "bayes_match", "setting", "splits", "true_loss_se", "paired_l2d", "paired_l2d_se", "paired_best_fixed_train",
		"paired_best_fixed_train_se", "role", "remark", "diff_auto", "diff_auto_low", "diff_auto_high",
		"gap_share", "seconds",
	})
	for _, row := range r.Rows {
		record := []string{
			r.Benchmark, row.Method, exact(row.Lambda), positive(row.N), positive(row.Seeds), row.Pair,
			exact(&row.TrueLossMean), exact(row.TrueLossStd), exact(row.ExcessMean), exact(row.ExcessStd),
		}
		record = append(record, intervalFields(row.DiffBestFixed)...)
		record = append(record, intervalFields(row.DiffL2D)...)
		record = append(record, exact(row.AdviceRate), exact(row.BayesMatch), row.Setting, positive(row.Splits), exact(row.TrueLossSE))
		record = append(record, differenceFields(row.PairedL2D)...)
		record = append(record, differenceFields(row.PairedFixedTrain)...)
		record = append(record, string(methods.Named(row.Method).Role), row.Remark())
		record = append(record, intervalFields(row.DiffAuto)...)
		_ = c.Write(append(record, exact(row.GapShare), exact(row.Seconds)))
	}
	c.Flush() // csv.Writer keeps the first error of every Write above
	return c.Error()
}

func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

// intervalFields are the mean and the ends as three fields.
func intervalFields(v *Interval) []string {
	if v == nil {
		return []string{"", "", ""}
	}
	return []string{exact(&v.Mean), exact(&v.Low), exact(&v.High)}
}

// differenceFields are the mean and its standard error as two fields.
func differenceFields(v *Difference) []string {
	if v == nil {
		return []string{"", ""}
	}
	return []string{exact(&v.Mean), exact(&v.SE)}
}
