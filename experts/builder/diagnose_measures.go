package builder

import (
	"cmp"
	"math"
	"slices"
)

// judgement holds the answers of one expert under one advice, an entry per row.
type judgement struct {
	truth       []int16   // index of the label
	answer      []int16   // index of the label answered, -1 if the answer was no label
	probability []float32 // of label 1, NaN if unknown
	loss        []float32 // task loss
}

// blankJudgement has n rows, without probabilities.
func blankJudgement(n int) *judgement {
	j := &judgement{truth: make([]int16, n), answer: make([]int16, n), probability: make([]float32, n), loss: make([]float32, n)}
	for i := range j.probability {
		j.probability[i] = float32(math.NaN())
	}
	return j
}

// calibrationBins is the number of equally wide bins of the calibration error.
const calibrationBins = 10

// measure computes the figures over labels 0..labels-1. Those of a positive
// label exist where there are two, label 1 being the positive one.
func (j *judgement) measure(labels int) Figures {
	f := Figures{Loss: mean(j.loss)}
	if !slices.ContainsFunc(j.answer, func(a int16) bool { return a >= 0 }) {
		return f // the expert was only judged
	}
	hits, rows := make([]float64, labels), make([]float64, labels)
	for n, y := range j.truth {
		rows[y]++
		if j.answer[n] == y {
			hits[y]++
		}
	}
	right, recalls, present := 0.0, 0.0, 0.0
	for y := range labels {
		right += hits[y]
		if rows[y] > 0 {
			recalls += hits[y] / rows[y]
			present++
		}
	}
	f.Accuracy, f.BalancedAccuracy = ratio(right, float64(len(j.truth))), ratio(recalls, present)
	if labels != 2 {
		return f
	}
	alarms := 0.0
	for _, a := range j.answer {
		if a == 1 {
			alarms++
		}
	}
	f.Recall, f.Precision = ratio(hits[1], rows[1]), ratio(hits[1], alarms)
	if !slices.ContainsFunc(j.probability, func(p float32) bool { return p != p }) {
		j.calibrate(&f)
	}
	return f
}

// ratio is a/b, nil where b is 0.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	r := a / b
	return &r
}

func mean(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x)
	}
	return sum / float64(len(v))
}

// calibrate fills in the figures that need probabilities.
func (j *judgement) calibrate(f *Figures) {
	var brier, total float64
	var count, sum, positive [calibrationBins]float64
	for n, p32 := range j.probability {
		p, y := float64(p32), float64(j.truth[n])
		brier += (p - y) * (p - y)
		total += p
		b := min(int(p*calibrationBins), calibrationBins-1)
		count[b]++
		sum[b] += p
		positive[b] += y
	}
	rows := float64(len(j.truth))
	gap := 0.0
	for b := range count {
		gap += math.Abs(sum[b] - positive[b])
	}
	f.AUC = auc(j.probability, j.truth)
	f.Brier, f.CalibrationError, f.MeanProbability = ratio(brier, rows), ratio(gap, rows), ratio(total, rows)
}

// auc is the area under the ROC curve: the probability that a positive row has
// a higher score than a negative one, ties counting half (Mann and Whitney's U
// from mid-ranks). It is nil where one of the two is missing.
func auc(score []float32, truth []int16) *float64 {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score[a], score[b]) })
	var ranks, positives float64
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && score[order[to]] == score[order[from]] {
			to++
		}
		rank := float64(from+to+1) / 2 // the mean of from+1..to
		for _, i := range order[from:to] {
			if truth[i] == 1 {
				ranks += rank
				positives++
			}
		}
		from = to
	}
	return ratio(ranks-positives*(positives+1)/2, positives*(float64(len(order))-positives))
}
