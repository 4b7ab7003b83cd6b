package bench

import (
	"math"
	"slices"

	"pipe/internal/lists"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/pipeline/report"
)

// averageReports combines reports on several splits of the same data into one. Rows are averaged over splits, with the
// standard error of that mean, and differences are paired by split. Answers of chat models are about all rows, the same
// on every split. A single report is returned unchanged.
func averageReports(splits []*report.Report) *report.Report {
	if len(splits) == 1 {
		return splits[0]
	}
	mean := *splits[0]
	mean.Rows, mean.Cells, mean.Figures = averageRows(splits), averageCells(splits), nil
	mean.Distribution = averageShares(splits)
	mean.BestAdvice = nil
	for _, c := range mean.Cells {
		mean.BestAdvice = append(mean.BestAdvice, bestAdvice(c))
	}
	mean.Disclosure = averageDisclosures(lists.Each(splits, func(r *report.Report) []report.Disclosure { return r.Disclosure }))
	mean.Experts = averageExperts(lists.Each(splits, func(r *report.Report) []report.ExpertQuality { return r.Experts }))
	return &mean
}

// averageRows averages every row that all splits have.
func averageRows(splits []*report.Report) []report.Row {
	byKey := make([]map[report.RowKey]report.Row, len(splits))
	for s, r := range splits {
		byKey[s] = map[report.RowKey]report.Row{}
		for _, row := range r.Rows {
			byKey[s][row.Key()] = row
		}
	}
	of := func(k report.RowKey) []report.Row {
		var rows []report.Row
		for _, m := range byKey {
			if row, ok := m[k]; ok {
				rows = append(rows, row)
			}
		}
		if len(rows) < len(splits) {
			return nil
		}
		return rows
	}
	var out []report.Row
	for _, first := range splits[0].Rows {
		rows := of(first.Key())
		if rows == nil {
			continue
		}
		row := averageRow(rows)
		row.PairedL2D = pairedDifference(rows, of(report.RowKey{Setting: first.Setting, Method: models.L2D, Lambda: first.Key().Lambda}))
		row.PairedFixedTrain = pairedDifference(rows, of(report.RowKey{Setting: first.Setting, Method: baseline.BestFixedTrain, Lambda: first.Key().Lambda}))
		out = append(out, row)
	}
	return out
}

// averageRow is the mean of one row of the report over splits.
func averageRow(rows []report.Row) report.Row {
	mean := report.Row{
		Setting: rows[0].Setting, Method: rows[0].Method, Lambda: rows[0].Lambda, N: rows[0].N, Seeds: rows[0].Seeds, Pair: rows[0].Pair,
		Plays: rows[0].Plays, ChangedFees: rows[0].ChangedFees, Splits: len(rows),
	}
	for _, r := range rows {
		for pair, n := range r.Fallback {
			if mean.Fallback == nil {
				mean.Fallback = map[string]int{}
			}
			mean.Fallback[pair] += n
		}
		if r.Plays != rows[0].Plays {
			mean.Plays = ""
		}
		if r.Pair != rows[0].Pair {
			mean.Pair = "" // a constant that depends on the split
		}
	}
	loss, se := standardError(lists.Each(rows, func(r report.Row) float64 { return r.TrueLossMean }))
	mean.TrueLossMean, mean.TrueLossSE = loss, report.Num(se)
	for _, f := range []func(*report.Row) **float64{
		func(r *report.Row) **float64 { return &r.AdviceRate },
		func(r *report.Row) **float64 { return &r.BayesMatch },
		func(r *report.Row) **float64 { return &r.ExcessMean },
	} {
		*f(&mean) = averageOf(lists.Each(rows, func(r report.Row) *float64 { return *f(&r) }))
	}
	return mean
}

// pairedDifference is the mean over splits of rows minus ref, nil if ref is missing or the same method.
func pairedDifference(rows, ref []report.Row) *report.Difference {
	if ref == nil || rows[0].Method == ref[0].Method {
		return nil
	}
	d := make([]float64, len(rows))
	for s := range rows {
		d[s] = rows[s].TrueLossMean - ref[s].TrueLossMean
	}
	mean, se := standardError(d)
	return &report.Difference{Mean: mean, SE: se}
}

// standardError returns the mean of at least two values and its standard error (sample convention, divisor n - 1),
// because splits are random samples.
func standardError(values []float64) (mean, se float64) {
	mean, std := models.MeanStd(values)
	return mean, std / math.Sqrt(float64(len(values)-1))
}

// averageCells averages the tables of pairs, which all splits have in the same order.
func averageCells(splits []*report.Report) []report.CellTable {
	var out []report.CellTable
	for c, first := range splits[0].Cells {
		mean := first
		mean.TrueLoss = nil
		for j := range first.Experts {
			var line []*float64
			for k := range first.Advice {
				line = append(line, averageOf(lists.Each(splits, func(r *report.Report) *float64 { return r.Cells[c].TrueLoss[j][k] })))
			}
			mean.TrueLoss = append(mean.TrueLoss, line)
		}
		out = append(out, mean)
	}
	return out
}

// bestAdvice names the cheapest advice of every expert.
func bestAdvice(c report.CellTable) report.BestAdvice {
	b := report.BestAdvice{Setting: c.Setting, Lambda: c.Lambda, Experts: c.Experts}
	for _, line := range c.TrueLoss {
		name, low := "", math.Inf(1)
		for k, v := range line {
			if v != nil && *v < low {
				name, low = c.Advice[k], *v
			}
		}
		if name == "" {
			low = 0
		}
		b.Advice, b.Cost = append(b.Advice, name), append(b.Cost, low)
	}
	return b
}

// averageShares averages the shares of rows routed to each expert, and the advice bought for them, weighted by these
// rows.
func averageShares(splits []*report.Report) []report.AdviceShares {
	type line struct {
		setting, method, expert string
		lambda                  float64
	}
	var order []line
	all := map[line]*report.AdviceShares{}
	for _, r := range splits {
		for _, d := range r.Distribution {
			at := line{d.Setting, d.Method, d.Expert, d.Lambda}
			sum := all[at]
			if sum == nil {
				sum = &report.AdviceShares{Setting: d.Setting, Method: d.Method, Lambda: d.Lambda, Expert: d.Expert, Advice: d.Advice, Share: make([]float64, len(d.Share))}
				all[at], order = sum, append(order, at)
			}
			sum.Routed += d.Routed
			for k, v := range d.Share {
				sum.Share[k] += d.Routed * v
			}
		}
	}
	var out []report.AdviceShares
	for _, at := range order {
		mean := *all[at]
		for k := range mean.Share {
			if mean.Routed > 0 {
				mean.Share[k] /= mean.Routed
			}
		}
		mean.Routed /= float64(len(splits))
		out = append(out, mean)
	}
	return slices.Clip(out)
}

// averageOf is the mean of the values if all apply, else nil.
func averageOf(values []*float64) *float64 {
	sum := 0.0
	for _, v := range values {
		if v == nil {
			return nil
		}
		sum += *v
	}
	return report.Num(sum / float64(len(values)))
}

// averageDisclosures averages over splits: shares and losses over splits, worths over the rows that were opened.
func averageDisclosures(splits [][]report.Disclosure) []report.Disclosure {
	type line struct {
		setting, method, group string
		lambda                 float64
	}
	var order []line
	all := map[line][]report.Disclosure{}
	for _, lines := range splits {
		for _, d := range lines {
			at := line{d.Setting, d.Method, d.Group, d.Lambda}
			if all[at] == nil {
				order = append(order, at)
			}
			all[at] = append(all[at], d)
		}
	}
	var out []report.Disclosure
	for _, at := range order {
		out = append(out, averageDisclosure(all[at]))
	}
	return out
}

func averageDisclosure(of []report.Disclosure) report.Disclosure {
	mean := of[0]
	mean.Opened, mean.TrueLoss, mean.Gross, mean.Net, mean.Without = 0, 0, nil, nil, nil
	n := float64(len(of))
	var weight, gross, net float64
	var without []float64
	for _, d := range of {
		mean.Opened += d.Opened / n
		mean.TrueLoss += d.TrueLoss / n
		if d.Gross != nil && d.Net != nil {
			weight, gross, net = weight+d.Opened, gross+d.Opened**d.Gross, net+d.Opened**d.Net
		}
		if d.Without != nil {
			without = append(without, *d.Without)
		}
	}
	if weight > 0 {
		mean.Gross, mean.Net = report.Num(gross/weight), report.Num(net/weight)
	}
	if len(without) == len(of) {
		mean.Without = report.Num(average(without))
	}
	return mean
}

// averageExperts averages the measures of the same expert and advice over splits; a measure that is missing in a split
// is averaged over the others.
func averageExperts(splits [][]report.ExpertQuality) []report.ExpertQuality {
	type pair struct{ setting, expert, advice string }
	var order []pair
	all := map[pair][]report.ExpertQuality{}
	for _, lines := range splits {
		for _, q := range lines {
			at := pair{q.Setting, q.Expert, q.Advice}
			if all[at] == nil {
				order = append(order, at)
			}
			all[at] = append(all[at], q)
		}
	}
	var out []report.ExpertQuality
	for _, at := range order {
		out = append(out, averageExpert(all[at]))
	}
	return slices.Clip(out)
}

func averageExpert(of []report.ExpertQuality) report.ExpertQuality {
	mean := of[0]
	mean.Loss = average(lists.Each(of, func(q report.ExpertQuality) float64 { return q.Loss }))
	mean.Rate = average(lists.Each(of, func(q report.ExpertQuality) float64 { return q.Rate }))
	for i, v := range mean.Figures() {
		var there []float64
		for n := range of {
			if w := *of[n].Figures()[i]; w != nil {
				there = append(there, *w)
			}
		}
		if *v = nil; len(there) > 0 {
			*v = report.Num(average(there))
		}
	}
	return mean
}

func average(v []float64) float64 {
	mean, _ := models.MeanStd(v)
	return mean
}
