package costs

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// CountGroups returns how many distinct groups there are, and how many of them
// have rows in more than one split; both lists are one per row.
func CountGroups(groups []string, splits []Split) (distinct, divided int) {
	first, apart := make(map[string]Split), make(map[string]bool)
	for n, g := range groups {
		if s, ok := first[g]; ok && s != splits[n] {
			apart[g] = true
		} else {
			first[g] = splits[n]
		}
	}
	return len(first), len(apart)
}

// room is how many rows of every label each split still needs.
type room map[string]*[3]int

// newRoom divides the rows of every label among the splits. Rounding remainders
// are carried from label to label, so that the shares also hold over all
// labels.
func newRoom(labels []string, val, test float64) room {
	counts := make(map[string]int)
	for _, l := range labels {
		counts[l]++
	}
	r := make(room)
	seen, vals, tests := 0, 0, 0
	for _, l := range slices.Sorted(maps.Keys(counts)) {
		n := counts[l]
		seen += n
		v := min(n, int(math.Round(val*float64(seen)))-vals)
		t := min(n-v, int(math.Round(test*float64(seen)))-tests)
		vals, tests = vals+v, tests+t
		r[l] = &[3]int{Train: n - v - t, Val: v, Test: t}
	}
	return r
}

// excess is the number of rows by which a group of the given labels would
// exceed the room in a split.
func (r room) excess(labels []string, to Split) int {
	need, over := make(map[string]int), 0
	for _, l := range labels {
		if need[l]++; need[l] > r[l][to] {
			over++
		}
	}
	return over
}

// choose returns a split for a group. Among the splits with room for all of it,
// it draws one in proportion to the room left; if there is none, it takes the
// split with the least excess.
func (r room) choose(labels []string, draw *rand.Rand) Split {
	best, least, total := Train, math.MaxInt, 0
	at := draw.Float64()
	var weights [3]int
	for to := range weights {
		over := r.excess(labels, Split(to))
		if over < least {
			best, least = Split(to), over
		}
		if over == 0 {
			weights[to] = r[labels[0]][to]
			total += weights[to]
		}
	}
	for to, w := range weights {
		if at -= float64(w) / float64(total); total > 0 && at < 0 {
			return Split(to)
		}
	}
	return best
}

// drawGroups draws the splits of n rows so that all rows of a group get the
// same split. labels and groups are one per row; labels may be nil. Large
// groups are placed first and single rows last, so that the shares of every
// label hold as closely as the groups allow. The draw depends on the arguments
// only.
func drawGroups(n int, labels, groups []string, val, test float64, seed uint64) []Split {
	if labels == nil {
		labels = make([]string, n)
	}
	byName := make(map[string][]int)
	for n, g := range groups {
		byName[g] = append(byName[g], n)
	}
	var order [][]int
	for _, g := range slices.Sorted(maps.Keys(byName)) {
		order = append(order, byName[g])
	}
	draw := rand.New(rand.NewPCG(seed, 0x67726f757073)) // a separate random stream
	draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	left, splits := newRoom(labels, val, test), make([]Split, len(labels))
	for _, rows := range order {
		members := make([]string, len(rows))
		for i, n := range rows {
			members[i] = labels[n]
		}
		to := left.choose(members, draw)
		for _, n := range rows {
			splits[n] = to
			left[labels[n]][to]--
		}
	}
	return splits
}
