package findings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/pipeline/report"
)

const (
	mostPartitions = 6  // by features
	mostRanges     = 40 // features with ranges: of more, as in vectors of texts, single values mean nothing
	mostValues     = 6  // of a feature whose values are categories
)

// partitions are those by label, by features and by clusters. Of those by features it keeps the few that say most about the
// training rows.
func (e *Evidence) partitions(lambda float64) []partition {
	if !e.divided {
		e.features, e.cluster, e.divided = e.byFeatures(), e.byCluster(), true
	}
	var out []partition
	if e.Tensor.Labels != nil {
		out = append(out, e.byLabel())
	}
	features := slices.Clone(e.features)
	if len(features) > mostPartitions {
		gain := e.headroom(lambda)
		slices.SortStableFunc(features, func(a, b partition) int { return cmp.Compare(e.explained(b, gain), e.explained(a, gain)) })
		features = features[:mostPartitions]
	}
	out = append(out, features...)
	if e.cluster != nil {
		out = append(out, *e.cluster)
	}
	return out
}

// byLabel has a segment per label.
func (e *Evidence) byLabel() partition {
	p := partition{by: report.ByLabel}
	at := map[string]int{}
	for _, l := range e.Tensor.Labels {
		if _, known := at[l]; !known {
			at[l] = len(p.names)
			p.names = append(p.names, l)
		}
	}
	p.of = func(n int) int { return at[e.Tensor.Labels[n]] }
	return p
}

// byFeatures are partitions by columns of one category, and by the values or ranges of other features.
func (e *Evidence) byFeatures() []partition {
	names := featureNames(e.Tensor)
	if names == nil {
		return nil
	}
	var out []partition
	var single []int
	for _, columns := range families(names) {
		if p := e.byCategory(names, columns); len(columns) > 1 && p != nil {
			out = append(out, *p)
		} else {
			single = append(single, columns...)
		}
	}
	if len(single) > mostRanges {
		return out
	}
	for _, c := range single {
		if p := e.byValue(names[c], c); p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// featureNames are the names in the metadata, nil if there are none for every feature.
func featureNames(t *costs.Tensor) []string {
	var names []string
	if err := json.Unmarshal([]byte(t.Meta[costs.NamesKey]), &names); err != nil || len(names) != t.Dim {
		return nil
	}
	return names
}

// families are the columns whose names have the same stem, and every other column by itself.
func families(names []string) [][]int {
	var out [][]int
	at := map[string]int{}
	for c, name := range names {
		stem := stemOf(name)
		if i, known := at[stem]; stem != "" && known {
			out[i] = append(out[i], c)
			continue
		}
		at[stem] = len(out)
		out = append(out, []int{c})
	}
	return out
}

// stemOf is the name of the column of which names such as topic=law and topic_is_law have one value; "" if there is none.
func stemOf(name string) string {
	for _, sign := range []string{"=", "_is_"} {
		if stem, _, found := strings.Cut(name, sign); found {
			return stem
		}
	}
	return ""
}

// byCategory has a segment per column of a family, if in every row at most one of them is 1 and the others are 0. Otherwise it
// is nil.
func (e *Evidence) byCategory(names []string, columns []int) *partition {
	hot := func(n int) (at int, ok bool) {
		at = -1
		for i, c := range columns {
			switch v := e.Tensor.Row(n)[c]; {
			case v == 1 && at < 0:
				at = i
			case v != 0:
				return at, false
			}
		}
		return at, true
	}
	for n := range e.Tensor.Len() {
		if _, ok := hot(n); !ok {
			return nil
		}
	}
	stem := stemOf(names[columns[0]])
	p := partition{by: report.ByCategory, name: stem}
	for _, c := range columns {
		p.names = append(p.names, names[c])
	}
	p.names = append(p.names, stem+" is another")
	p.of = func(n int) int {
		if at, _ := hot(n); at >= 0 {
			return at
		}
		return len(columns)
	}
	return &p
}

// byValue has a segment per value of a feature, or per quarter of the training rows if it has many values.
func (e *Evidence) byValue(name string, c int) *partition {
	rows := e.Train
	if len(rows) == 0 {
		rows = e.Rows
	}
	values := make([]float32, len(rows))
	for i, n := range rows {
		values[i] = e.Tensor.Row(n)[c]
	}
	slices.Sort(values)
	if distinct := slices.Compact(slices.Clone(values)); len(distinct) <= mostValues {
		return e.byEach(name, c, distinct)
	}
	return e.byQuarter(name, c, values)
}

func (e *Evidence) byEach(name string, c int, values []float32) *partition {
	p := partition{by: report.ByCategory, name: name}
	for _, v := range values {
		p.names = append(p.names, fmt.Sprintf("%s=%g", name, v))
	}
	p.names = append(p.names, name+" is another")
	p.of = func(n int) int {
		if i, found := slices.BinarySearch(values, e.Tensor.Row(n)[c]); found {
			return i
		}
		return len(values)
	}
	return &p
}

func (e *Evidence) byQuarter(name string, c int, sorted []float32) *partition {
	var edges []float32 // each the largest value of its segment
	for q := 1; q <= 3; q++ {
		edges = append(edges, sorted[q*(len(sorted)-1)/4])
	}
	edges = slices.Compact(edges)
	p := partition{by: report.ByRange, name: name}
	for i, v := range edges {
		if i == 0 {
			p.names = append(p.names, fmt.Sprintf("%s up to %.4g", name, v))
			continue
		}
		p.names = append(p.names, fmt.Sprintf("%s above %.4g up to %.4g", name, edges[i-1], v))
	}
	p.names = append(p.names, fmt.Sprintf("%s above %.4g", name, edges[len(edges)-1]))
	p.of = func(n int) int {
		at, _ := slices.BinarySearch(edges, e.Tensor.Row(n)[c])
		return at
	}
	return &p
}

// headroom is, per training row, what the cheapest pair saves over the best fixed pair.
func (e *Evidence) headroom(lambda float64) []float64 {
	out := make([]float64, len(e.Train))
	if len(e.Train) == 0 {
		return out
	}
	best := costs.Summarize(e.Tensor, e.Train, lambda).Best
	var row []float64
	for i, n := range e.Train {
		row = e.Tensor.Costs(row, n, lambda)
		out[i] = row[best] - slices.Min(row)
	}
	return out
}

// explained is the share of the variance of y, per training row, that is between the segments, adjusted for their number.
func (e *Evidence) explained(p partition, y []float64) float64 {
	all := mean(y)
	sums, counts := make([]float64, len(p.names)), make([]float64, len(p.names))
	total, between, used := 0.0, 0.0, 0.0
	for i, n := range e.Train {
		at := p.of(n)
		sums[at] += y[i] - all
		counts[at]++
		total += (y[i] - all) * (y[i] - all)
	}
	for at, count := range counts {
		if count > 0 {
			between += sums[at] * sums[at] / count
			used++
		}
	}
	n := float64(len(y))
	if !(total > 0) || n <= used {
		return 0
	}
	return 1 - (total-between)/(n-used)/(total/math.Max(1, n-1))
}
