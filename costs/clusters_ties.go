package costs

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Ties describes rows with equal features. They may be copies of one row, or different instances whose features have few
// values. Losses show which: the losses of copies are equal or nearly so, those of different instances vary.
type Ties struct {
	Rows     int     `json:"rows"`
	Distinct int     `json:"distinct"` // feature vectors
	Spread   float64 `json:"spread"`   // variance of the losses of rows with equal features, as a share of the variance over all rows
}

// leastSpread is the spread from which rows with equal features are taken as different instances. The spread is near 0 for
// copies, even if a few were measured again. It is about 1 for independent losses that the features do not predict.
const leastSpread = 0.1

// Independent reports whether rows with equal features are different instances. Where all features are equal, nothing can
// be learned from them, and rows stay together.
func (x Ties) Independent() bool {
	return x.Distinct > 1 && x.Distinct < x.Rows && x.Spread >= leastSpread
}

// Text describes the ties; it is empty if no two rows have equal features.
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

// Ties compares the losses of those given rows that have equal features.
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

// variance is the variance of the losses within sets of rows, averaged over pairs. Unknown outcomes do not count.
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

// apart numbers rows when rows with equal features are different instances. There may be copies among them: rows with equal
// features and equal losses. They get the same number if chance does not explain the equal losses. Either equal losses are much
// more frequent among rows with equal features than among others ([coincidences.telling]), or all rows of a set agree and that
// is improbable ([coincidences.chance]).
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

// coincidences are counts of pairs of rows.
type coincidences struct {
	within, among           float64 // pairs with equal features, and other pairs
	equalWithin, equalAmong float64 // of these, those with equal losses
}

// coincide counts the pairs. The lists number rows by equal features, by equal losses, and by both.
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

// tellingTimes says how much more frequent equal losses must be among pairs with equal features, compared with other pairs, to
// show copies. If features predict the losses, equal losses are more frequent too, but by a smaller factor.
const tellingTimes = 10

// telling reports whether the equal losses of rows with equal features show copies. Losses with few values, such as 0 and 1,
// are often equal by chance and show nothing.
func (c coincidences) telling() bool {
	return c.equalWithin > 0 && c.equalWithin*c.among >= tellingTimes*c.equalAmong*c.within
}

// mostChance is the significance level: rows of a set with equal losses are copies if chance has at most this probability.
const mostChance = 0.01

// chance is the probability that this number of rows have equal losses, if two of them are equal as often as in other pairs.
func (c coincidences) chance(rows int) float64 {
	if c.among == 0 {
		return 1
	}
	return math.Pow(c.equalAmong/c.among, float64(rows-1))
}

// lossTexts returns the losses of each row as a text. Equal losses have equal texts.
func (t *Tensor) lossTexts(rows []int) []string {
	out := make([]string, len(rows))
	var buf []byte
	for m, n := range rows {
		buf = buf[:0]
		for _, v := range t.Losses(n) {
			if v != v {
				v = float32(math.NaN()) // one NaN for all
			}
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v+0)) // not the negative zero
		}
		out[m] = string(buf)
	}
	return out
}
