package offpolicy

import (
	"cmp"
	"math"
	"slices"
)

// Support is what a log can say of the choices of the target.
type Support struct {
	Rows     int `json:"rows"`
	Clusters int `json:"clusters"`
	// Effective is the effective sample size (sum w)^2 / sum w^2 of the ratios w = target / logged of executed pairs, times
	// the weights of rows; 0 if the target never chooses an executed pair.
	Effective float64       `json:"effective"`
	Largest   []LargeRatio  `json:"largest"` // the largest ratios, at most 5, largest first
	Pairs     []PairSupport `json:"pairs"`   // by pair
	// Without are the pairs that the target chooses and that were never executed, by index.
	Without []int `json:"without"`
	// Unsupported is the share of the target's choices without support: the pair was never executed, or its probability in
	// the log is 0 on the row. Their cost is a guess of the estimates, or missing without them.
	Unsupported float64 `json:"unsupported"`
	// Unknown is the share of the target's choices whose probability in the log is not known, of pairs with support.
	Unknown float64 `json:"unknown"`
}

// LargeRatio is a row with a large ratio.
type LargeRatio struct {
	Row   int     `json:"row"` // from 0
	Pair  int     `json:"pair"`
	Ratio float64 `json:"ratio"`
}

// PairSupport is what a log can say of one pair.
type PairSupport struct {
	Chosen   float64 `json:"chosen"`   // the share of rows on which the target chooses it
	Executed int     `json:"executed"` // rows on which it was executed
	// Smallest is the smallest known probability above 0 in the log of the rows on which the target may choose it; nil if
	// there is none.
	Smallest *float64 `json:"smallest"`
}

// largestShown is the number of large ratios in a [Support].
const largestShown = 5

// SupportOf describes a log that is valid ([Log.Validate]). Shares are weighted by the rows.
func SupportOf(l *Log) Support {
	s := Support{Rows: l.Len(), Clusters: l.clusters().Len(), Pairs: make([]PairSupport, l.Pairs)}
	for _, a := range l.Executed {
		s.Pairs[a].Executed++
	}
	total := 0.0
	for i := range l.Len() {
		total += l.weight(i)
	}
	for i := range l.Len() {
		s.addRow(l, i, l.weight(i)/total)
	}
	for a, p := range s.Pairs {
		if p.Chosen > 0 && p.Executed == 0 {
			s.Without = append(s.Without, a)
		}
	}
	s.addRatios(l)
	return s
}

// addRow adds the choices of the target on a row that is a share of all.
func (s *Support) addRow(l *Log, i int, share float64) {
	logged := l.of(l.Logged, i)
	for a, p := range l.of(l.Target, i) {
		if p == 0 {
			continue
		}
		pair := &s.Pairs[a]
		pair.Chosen += share * p
		switch {
		case pair.Executed == 0 || logged[a] == 0:
			s.Unsupported += share * p
		case math.IsNaN(logged[a]):
			s.Unknown += share * p
		}
		if logged[a] > 0 && (pair.Smallest == nil || logged[a] < *pair.Smallest) {
			pair.Smallest = &logged[a]
		}
	}
}

// addRatios adds the effective sample size and the largest ratios.
func (s *Support) addRatios(l *Log) {
	sum, squares := 0.0, 0.0
	for i := range l.Len() {
		r := l.ratio(l.Target, i)
		w := r * l.weight(i)
		sum += w
		squares += w * w
		s.Largest = largest(s.Largest, LargeRatio{i, l.Executed[i], r})
	}
	if sum > 0 {
		s.Effective = sum * sum / squares
	}
	for a := range s.Pairs { // of their own, not of the log
		if v := s.Pairs[a].Smallest; v != nil {
			own := *v
			s.Pairs[a].Smallest = &own
		}
	}
}

// largest keeps a list of the largest ratios, the earlier of equal ones first.
func largest(list []LargeRatio, r LargeRatio) []LargeRatio {
	if len(list) == largestShown && r.Ratio <= list[len(list)-1].Ratio {
		return list
	}
	list = append(list, r)
	slices.SortStableFunc(list, func(a, b LargeRatio) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return list[:min(len(list), largestShown)]
}
