package costs

import (
	"encoding/binary"
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

// apart numbers rows of sets with the same features, which are different instances. Those with equal losses get the same
// number, as copies among ties, where it is not by chance: where so many have equal losses ([coincidences.telling]), or in a
// set whose rows all have ([coincidences.chance]).
func (t *Tensor) apart(rows, same []int) []int {
	losses := Numbered(t.lossTexts(rows))
	type key struct{ set, losses int }
	both := make([]key, len(rows))
	for m := range rows {
		both[m] = key{same[m], losses[m]}
	}
	equal := Numbered(both)
	c := coincide(same, losses, equal)
	if c.telling() {
		return equal
	}
	size, agreeing := make([]int, len(rows)), make([]int, len(rows)) // by set, and by equal rows
	for m := range rows {
		size[same[m]]++
		agreeing[equal[m]]++
	}
	out := make([]int, len(rows))
	for m := range out {
		out[m] = m
		if n := size[same[m]]; n == agreeing[equal[m]] && c.chance(n) <= mostChance {
			out[m] = same[m]
		}
	}
	return out
}

// coincidences count pairs of rows.
type coincidences struct {
	within, among           float64 // pairs with equal features, and other pairs
	equalWithin, equalAmong float64 // of these, those with equal losses
}

// coincide counts them. The lists number sets with equal features, equal losses, and both.
func coincide(same, losses, both []int) (c coincidences) {
	pairs := func(numbers []int) (n float64) {
		size := make(map[int]float64)
		for _, k := range numbers {
			n += size[k]
			size[k]++
		}
		return n
	}
	rows := float64(len(same))
	c.within, c.equalWithin = pairs(same), pairs(both)
	c.among, c.equalAmong = rows*(rows-1)/2-c.within, pairs(losses)-c.equalWithin
	return c
}

// tellingTimes is how many times as often as in other pairs the losses of a pair with equal features must be equal to show
// copies. Losses that features predict are equal more often in such pairs too, but not as much.
const tellingTimes = 10

// telling reports whether pairs with equal features have equal losses because they are copies. Losses of few values, such
// as 0 and 1, are equal by chance, so they tell nothing.
func (c coincidences) telling() bool {
	return c.equalWithin > 0 && c.equalWithin*c.among >= tellingTimes*c.equalAmong*c.within
}

// mostChance is the most probability at which that all rows of a set have equal losses shows copies.
const mostChance = 0.01

// chance is the probability that so many rows have equal losses, if they are like those of other pairs.
func (c coincidences) chance(rows int) float64 {
	if c.among == 0 {
		return 1
	}
	return math.Pow(c.equalAmong/c.among, float64(rows-1))
}

// lossTexts are the losses of rows as comparable texts.
func (t *Tensor) lossTexts(rows []int) []string {
	out := make([]string, len(rows))
	var buf []byte
	for m, n := range rows {
		buf = buf[:0]
		for _, v := range t.Losses(n) {
			if v != v {
				v = float32(math.NaN()) // one of them
			}
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v+0)) // not the negative zero
		}
		out[m] = string(buf)
	}
	return out
}
