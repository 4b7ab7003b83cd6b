package findings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pipe/pipeline/report"
)

const (
	rowsPerCluster = 100 // reported rows, on average
	mostClusters   = 8
	mostFitted     = 5000      // training rows that clusters are fitted on
	mostFittedSize = 4_000_000 // values in these rows
	mostRounds     = 50
)

// byCluster has clusters of rows with similar features: k-means on standardised features of training rows, one cluster per
// 100 reported rows, 2 to 8. It is nil if there are fewer than 200 reported rows, or no two different training rows.
func (e *Evidence) byCluster() *partition {
	k := min(len(e.Rows)/rowsPerCluster, mostClusters)
	rows := e.Train
	if len(rows) == 0 {
		rows = e.Rows
	}
	if k < 2 {
		return nil
	}
	space := e.standardise(rows)
	centres := fitClusters(space.rows(evenly(rows, min(mostFitted, max(10*k, mostFittedSize/e.Tensor.Dim)))), k, e.Seed)
	if len(centres) < 2 {
		return nil
	}
	p := partition{by: report.ByCluster, like: make([]string, len(centres))}
	nearest := slices.Repeat([]float64{math.Inf(1)}, len(centres))
	of := make([]int, e.Tensor.Len()) // only of reported rows
	for _, n := range e.Rows {
		at, far := closest(space.row(n), centres)
		of[n] = at
		if far < nearest[at] {
			nearest[at], p.like[at] = far, e.Tensor.IDs[n]
		}
	}
	for i := range centres {
		p.names = append(p.names, fmt.Sprintf("cluster %d", i+1))
	}
	p.of = func(n int) int { return of[n] }
	return &p
}

// evenly picks rows at equal distances, all of them if there are no more than most.
func evenly(rows []int, most int) []int {
	if len(rows) <= most {
		return rows
	}
	out := make([]int, most)
	for i := range out {
		out[i] = rows[i*len(rows)/most]
	}
	return out
}

// space has features with mean 0 and standard deviation 1 over some rows.
type space struct {
	e           *Evidence
	mean, scale []float64 // the scale of a constant feature is 0
}

func (e *Evidence) standardise(rows []int) space {
	d := e.Tensor.Dim
	s := space{e, make([]float64, d), make([]float64, d)}
	for _, n := range rows {
		for c, v := range e.Tensor.Row(n) {
			s.mean[c] += float64(v) / float64(len(rows))
		}
	}
	for _, n := range rows {
		for c, v := range e.Tensor.Row(n) {
			d := float64(v) - s.mean[c]
			s.scale[c] += d * d / float64(len(rows))
		}
	}
	for c, v := range s.scale {
		if s.scale[c] = 0; v > 0 {
			s.scale[c] = 1 / math.Sqrt(v)
		}
	}
	return s
}

func (s space) row(n int) []float64 {
	out := make([]float64, len(s.mean))
	for c, v := range s.e.Tensor.Row(n) {
		out[c] = (float64(v) - s.mean[c]) * s.scale[c]
	}
	return out
}

func (s space) rows(rows []int) [][]float64 {
	out := make([][]float64, len(rows))
	for i, n := range rows {
		out[i] = s.row(n)
	}
	return out
}

// fitClusters returns the centres of at most k clusters: Lloyd's iterations from centres that are drawn far from each
// other (k-means++). There are fewer if points are equal.
func fitClusters(points [][]float64, k int, seed uint64) [][]float64 {
	centres := drawCentres(points, k, rand.New(rand.NewPCG(seed, 0x636c7573746572)))
	of := make([]int, len(points))
	for range mostRounds {
		moved := false
		for i, p := range points {
			at, _ := closest(p, centres)
			moved = moved || at != of[i]
			of[i] = at
		}
		if !moved {
			break
		}
		centres = middles(points, of, centres)
	}
	return centres
}

// drawCentres draws points with a probability that grows with the squared distance to those drawn before.
func drawCentres(points [][]float64, k int, r *rand.Rand) [][]float64 {
	centres := [][]float64{points[r.IntN(len(points))]}
	far := make([]float64, len(points))
	for len(centres) < k {
		total := 0.0
		for i, p := range points {
			_, far[i] = closest(p, centres)
			total += far[i]
		}
		if !(total > 0) {
			break
		}
		at, left := -1, r.Float64()*total
		for i, f := range far {
			if f > 0 && (at < 0 || left > 0) {
				at = i
			}
			left -= f
		}
		centres = append(centres, points[at])
	}
	return centres
}

// middles are the means of the points of every cluster; one without points stays.
func middles(points [][]float64, of []int, centres [][]float64) [][]float64 {
	out, counts := make([][]float64, len(centres)), make([]float64, len(centres))
	for i := range out {
		out[i] = make([]float64, len(points[0]))
	}
	for i, p := range points {
		counts[of[i]]++
		for c, v := range p {
			out[of[i]][c] += v
		}
	}
	for i := range out {
		if counts[i] == 0 {
			out[i] = centres[i]
			continue
		}
		for c := range out[i] {
			out[i][c] /= counts[i]
		}
	}
	return out
}

// closest is the first of the nearest centres, and the squared distance.
func closest(p []float64, centres [][]float64) (at int, far float64) {
	far = math.Inf(1)
	for i, c := range centres {
		d := 0.0
		for j, v := range p {
			d += (v - c[j]) * (v - c[j])
		}
		if d < far {
			at, far = i, d
		}
	}
	return at, far
}
