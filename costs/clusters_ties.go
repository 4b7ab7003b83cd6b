package costs

import (
	"fmt"
	"math"
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
		return said + "rows with equal features have different losses, so they are taken as different instances, not as copies"
	}
	return said + "rows with equal features have equal losses, or nearly so, and are taken as copies; if they are different instances, set auto: {apart: true}"
}

// evidence is what says which rows belong together. Lists are one per row. What is equal is named by its first row.
type evidence struct {
	same   []int                   // the first row with the same features
	losses func(row int) []float32 // of every pair; NaN is unknown
	groups []string                // nil: none
}

// clusters joins rows; apart is that of [Tensor.Together].
func (e evidence) clusters(apart *bool) Clusters {
	same := [][]int{e.copies(apart)}
	if e.groups != nil {
		same = append(same, firstEqual(e.groups))
	}
	return NewClusters(len(e.same), same...)
}

// copies returns for every row the first one that it is a copy of. Where apart is nil, features and losses tell.
func (e evidence) copies(apart *bool) []int {
	switch {
	case apart == nil && e.ties().Independent():
		return e.copiesAmongTies()
	case apart != nil && *apart:
		none := make([]int, len(e.same))
		for row := range none {
			none[row] = row
		}
		return none
	}
	return e.same
}

func (e evidence) ties() Ties {
	x := Ties{Rows: len(e.same)}
	for row, first := range e.same {
		if row == first {
			x.Distinct++
		}
	}
	if x.Distinct == x.Rows {
		return x
	}
	if all := e.variance(make([]int, len(e.same))); all > 0 {
		x.Spread = e.variance(e.same) / all
	}
	return x
}

// variance is that of the losses within sets of rows, the mean over pairs. Unknown losses do not count.
func (e evidence) variance(sets []int) float64 {
	squares, freedom := 0.0, 0
	for pair := range e.losses(0) {
		sum, count := make([]float64, len(sets)), make([]int, len(sets)) // by set
		each := func(do func(set int, loss float64)) {
			for row, set := range sets {
				if v := e.losses(row)[pair]; v == v {
					do(set, float64(v))
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

// copiesAmongTies finds copies where most rows with equal features are different instances. Copies have equal features and
// equal losses, but so can different instances, by chance. There are two signs that it is not chance:
//
//   - in the whole table, equal losses are much more frequent among rows with equal features than among others
//     ([coincidences.telling]): then all rows with equal features and losses are copies;
//   - in one set of rows with equal features, all losses are equal, and by chance that is unlikely
//     ([coincidences.chance]): then that set is copies.
func (e evidence) copiesAmongTies() []int {
	rows := len(e.same)
	h, hashes := newRowHash(), make([]uint64, rows)
	type key struct {
		features int
		losses   uint64
	}
	keys := make([]key, rows)
	for row := range rows {
		hashes[row] = h.of(e.losses(row))
		keys[row] = key{e.same[row], hashes[row]}
	}
	equal := firstEqual(keys)
	c := countCoincidences(e.same, firstEqual(hashes), equal)
	if c.telling() {
		return equal
	}
	size, agreeing := make([]int, rows), make([]int, rows) // rows with the features, and with the features and losses, of a first row
	for row := range rows {
		size[e.same[row]]++
		agreeing[equal[row]]++
	}
	out := make([]int, rows)
	for row, first := range e.same {
		out[row] = row
		if n := size[first]; n == agreeing[equal[row]] && c.chance(n) <= mostChance {
			out[row] = first
		}
	}
	return out
}

// coincidences counts pairs of rows, and those of them whose losses are equal.
type coincidences struct {
	within, among           float64 // pairs of rows with equal features, and all other pairs
	equalWithin, equalAmong float64 // of these, the pairs with equal losses
}

// countCoincidences takes for every row the first one with equal features, with equal losses, and with both.
func countCoincidences(features, losses, both []int) (c coincidences) {
	pairs := func(first []int) (n float64) {
		size := make([]float64, len(first))
		for _, k := range first {
			n += size[k]
			size[k]++
		}
		return n
	}
	rows := float64(len(features))
	c.within, c.equalWithin = pairs(features), pairs(both)
	c.among, c.equalAmong = rows*(rows-1)/2-c.within, pairs(losses)-c.equalWithin
	return c
}

// tellingTimes is how many times as frequent equal losses must be among rows with equal features as among others to be a
// sign of copies. Features that predict losses make them more frequent too, but not by as much.
const tellingTimes = 10

// telling reports whether equal losses are so much more frequent among rows with equal features that these rows must be
// copies. Losses of few values, such as 0 and 1, are often equal everywhere, and tell nothing.
func (c coincidences) telling() bool {
	return c.equalWithin > 0 && c.equalWithin*c.among >= tellingTimes*c.equalAmong*c.within
}

// mostChance is the probability up to which equal losses of a whole set of rows are a sign of copies.
const mostChance = 0.01

// chance is the probability that all of the given number of different instances have equal losses, if two of them have
// equal losses as often as two rows with other features.
func (c coincidences) chance(rows int) float64 {
	if c.among == 0 {
		return 1
	}
	return math.Pow(c.equalAmong/c.among, float64(rows-1))
}
