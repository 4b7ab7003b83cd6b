package costs

import (
	"fmt"
	"slices"
)

// Ties says whether rows with equal features are copies of one another, or different instances whose features have few
// values. Losses show which: those of copies are equal, or nearly so, and those of different instances spread.
type Ties struct {
	Rows     int     `json:"rows"`
	Distinct int     `json:"distinct"` // feature vectors
	Spread   float64 `json:"spread"`   // variance of the losses of rows with equal features, as a share of the variance over all rows
}

// leastSpread is the spread from which rows with equal features are different instances. It is 0 for copies, also where a
// few of them were measured again, and about 1 for independent losses that the features do not predict.
const leastSpread = 0.1

// Independent reports whether rows with equal features are different instances. Where all features are equal, nothing can
// be learned from them, and rows stay together.
func (x Ties) Independent() bool {
	return x.Distinct > 1 && x.Distinct < x.Rows && x.Spread >= leastSpread
}

// Text says what was found; it is empty if no two rows have equal features.
func (x Ties) Text() string {
	switch x.Distinct {
	case x.Rows:
		return ""
	case 1:
		return fmt.Sprintf("%d rows, one feature vector: no policy can tell them apart", x.Rows)
	}
	said := fmt.Sprintf("%d rows, %d distinct feature vectors: ", x.Rows, x.Distinct)
	if x.Independent() {
		return said + "losses differ within them, so rows with equal features are taken as independent"
	}
	return said + "losses agree within them, so rows with equal features are taken as copies; if they are different instances, set auto: {apart: true}"
}

// Ties looks at the losses of those of the given rows that have equal features.
func (t *Tensor) Ties(rows []int) Ties { return t.tiesOf(rows, t.sameFeatures(rows)) }

func (t *Tensor) tiesOf(rows, same []int) Ties {
	sets := Numbered(same)
	x := Ties{Rows: len(rows)}
	for _, set := range sets {
		x.Distinct = max(x.Distinct, set+1)
	}
	if all := t.variance(rows, make([]int, len(rows))); x.Distinct < x.Rows && all > 0 {
		x.Spread = t.variance(rows, sets) / all
	}
	return x
}

// variance is that of the losses within sets of rows, the mean over pairs; unknown outcomes do not count.
func (t *Tensor) variance(rows, sets []int) float64 {
	squares, freedom := 0.0, 0
	for pair := range t.Actions.Len() {
		sum, count := make([]float64, len(rows)), make([]int, len(rows)) // by set
		each := func(do func(set int, loss float64)) {
			for m, n := range rows {
				if v := t.Losses(n)[pair]; v == v {
					do(sets[m], float64(v))
				}
			}
		}
		each(func(set int, loss float64) {
			if sum[set], count[set] = sum[set]+loss, count[set]+1; count[set] > 1 {
				freedom++
			}
		})
		each(func(set int, loss float64) {
			off := loss - sum[set]/float64(count[set])
			squares += off * off
		})
	}
	return squares / float64(max(freedom, 1))
}

// apart numbers rows like same, but every row of a set whose losses differ gets its own number. Sets whose losses
// are all equal stay together: they may be copies in a table that also has ties.
func (t *Tensor) apart(rows, same []int) []int {
	differ := make([]bool, len(rows))
	for m, n := range rows {
		if !slices.EqualFunc(t.Losses(n), t.Losses(rows[same[m]]), sameLoss) {
			differ[same[m]] = true
		}
	}
	out := slices.Clone(same)
	for m := range out {
		if differ[same[m]] {
			out[m] = m
		}
	}
	return out
}

func sameLoss(a, b float32) bool { return a == b || a != a && b != b }
