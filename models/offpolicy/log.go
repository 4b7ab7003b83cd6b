package offpolicy

import (
	"fmt"
	"math"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/models/offpolicy/anytime"
)

// DataError is a log that cannot be used, with its row, counted from 1, and column.
type DataError = dataerror.Error

// Log has n logged decisions among Pairs pairs, by column. Lists of n x Pairs values are row-major.
type Log struct {
	Pairs    int
	Executed []int     // n, the pair whose cost is known
	Cost     []float64 // n, its cost

	// Logged are the probabilities with which the whole system executes each pair, n x Pairs. NaN: not known, of a pair that
	// was not executed.
	Logged   []float64
	Target   []float64 // n x Pairs, the probabilities of the policy in question
	Baseline []float64 // n x Pairs, those of the policy that it is compared with; nil: none
	// Estimates are those of the cost of each pair, n x Pairs, made without the row and its cluster; nil: none.
	Estimates []float64

	Cluster []int     // n, rows of one cluster, such as a user, depend on each other; nil: each row is its own
	Weight  []float64 // n, above 0: how many rows a row stands for, as 1 / keep of a sampled log; nil: 1 each
}

// Len is the number of rows.
func (l *Log) Len() int { return len(l.Executed) }

// everyRow has the numbers of all rows.
func (l *Log) everyRow() []int {
	rows := make([]int, l.Len())
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Validate returns the first problem of the log as a [DataError]: lengths, an executed pair without a probability,
// probabilities that are none or do not add up to 1, weights that are not above 0, numbers that are not finite.
func (l *Log) Validate() error {
	n := l.Len()
	if n == 0 {
		return &DataError{Column: "executed", Msg: "no rows"}
	}
	if l.Pairs < 1 {
		return &DataError{Msg: fmt.Sprintf("%d pairs", l.Pairs)}
	}
	for _, c := range []struct {
		name      string
		got, want int
		absent    bool
	}{
		{"cost", len(l.Cost), n, false},
		{"logged", len(l.Logged), n * l.Pairs, false},
		{"target", len(l.Target), n * l.Pairs, false},
		{"baseline", len(l.Baseline), n * l.Pairs, l.Baseline == nil},
		{"estimates", len(l.Estimates), n * l.Pairs, l.Estimates == nil},
		{"cluster", len(l.Cluster), n, l.Cluster == nil},
		{"weight", len(l.Weight), n, l.Weight == nil},
	} {
		if c.got != c.want && !c.absent {
			return &DataError{Column: c.name, Msg: fmt.Sprintf("%d values; %d rows of %d pairs need %d", c.got, n, l.Pairs, c.want)}
		}
	}
	for i := range n {
		if err := l.row(i).Check(); err != nil {
			return &DataError{Row: i + 1, Err: err}
		}
		if w := l.weight(i); !(w > 0) || math.IsInf(w, 0) {
			return &DataError{Row: i + 1, Column: "weight", Msg: fmt.Sprint(w)}
		}
	}
	return nil
}

// row is a view of row i.
func (l *Log) row(i int) anytime.Row {
	return anytime.Row{
		Executed: l.Executed[i], Cost: l.Cost[i],
		Logged: l.of(l.Logged, i), Target: l.of(l.Target, i), Baseline: l.of(l.Baseline, i), Estimates: l.of(l.Estimates, i),
	}
}

// of are the values of row i in a list of n x Pairs; nil stays nil.
func (l *Log) of(list []float64, i int) []float64 {
	if list == nil {
		return nil
	}
	return list[i*l.Pairs : (i+1)*l.Pairs]
}

func (l *Log) weight(i int) float64 {
	if l.Weight == nil {
		return 1
	}
	return l.Weight[i]
}

// propensity is the probability in the log of the executed pair of row i.
func (l *Log) propensity(i int) float64 { return l.Logged[i*l.Pairs+l.Executed[i]] }

// ratio is the weight of row i for a policy, one of the lists of probabilities: policy / logged of the executed pair.
func (l *Log) ratio(policy []float64, i int) float64 {
	return policy[i*l.Pairs+l.Executed[i]] / l.propensity(i)
}

// clusters are those of the rows.
func (l *Log) clusters() costs.Clusters { return clustersOf(l.Len(), l.Cluster) }

// clustersOf are those of n rows; nil: each row is its own.
func clustersOf(n int, cluster []int) costs.Clusters {
	if cluster == nil {
		return costs.NewClusters(n)
	}
	return costs.NewClusters(n, cluster)
}

// tooLarge reports a value of row i that is not finite.
func (l *Log) tooLarge(i int, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return &DataError{Row: i + 1, Column: "logged", Msg: fmt.Sprintf("probability %v makes a term that is too large", l.propensity(i))}
	}
	return nil
}
