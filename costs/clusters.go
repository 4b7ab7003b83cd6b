package costs

import (
	"cmp"
	"slices"
)

// Clusters say which rows belong together: near-duplicates that count as one
// draw, not as several. A split into training and held-out rows keeps each
// cluster on one side. The error of a mean is computed over clusters, not over
// rows.
type Clusters struct {
	Of   []int // per row, its cluster; clusters are numbered from 0 in the order of their first rows
	Size []int // per cluster, its number of rows
}

// NewClusters joins rows. Every list in same has one number per row. Two rows
// with the same number in any list belong together, and so do two rows that
// both belong with a third.
func NewClusters(rows int, same ...[]int) Clusters {
	parent := make([]int, rows)
	for n := range parent {
		parent[n] = n
	}
	root := func(n int) int {
		for parent[n] != n {
			parent[n] = parent[parent[n]]
			n = parent[n]
		}
		return n
	}
	for _, numbers := range same {
		first := make(map[int]int, rows)
		for n, number := range numbers {
			other, seen := first[number]
			if !seen {
				first[number] = n
				continue
			}
			a, b := root(other), root(n)
			parent[max(a, b)] = min(a, b) // the first row of a cluster is its root
		}
	}
	c := Clusters{Of: make([]int, rows)}
	for n := range parent {
		if r := root(n); r < n {
			c.Of[n] = c.Of[r]
			c.Size[c.Of[n]]++
		} else {
			c.Of[n] = len(c.Size)
			c.Size = append(c.Size, 1)
		}
	}
	return c
}

// Numbered gives equal keys the same number, from 0 in the order of first appearance.
func Numbered[K comparable](keys []K) []int {
	numbers, known := make([]int, len(keys)), make(map[K]int, len(keys))
	for n, k := range keys {
		number, ok := known[k]
		if !ok {
			number = len(known)
			known[k] = number
		}
		numbers[n] = number
	}
	return numbers
}

// Len is the number of clusters.
func (c Clusters) Len() int { return len(c.Size) }

// Repeats is the number of rows that are not the first of their cluster.
func (c Clusters) Repeats() int { return len(c.Of) - len(c.Size) }

// IDs is Of, or nil if every cluster has one row, which is what statistics expect.
func (c Clusters) IDs() []int {
	if c.Repeats() == 0 {
		return nil
	}
	return c.Of
}

// Pick returns the clusters of some of the rows, in the order given: row i of
// the result is rows[i].
func (c Clusters) Pick(rows []int) Clusters { return NewClusters(len(rows), pick(c.Of, rows, 1)) }

// Folds assigns whole clusters to folds whose numbers of rows are as equal as
// the clusters allow, and returns the fold of every row. With fewer clusters
// than folds there are fewer folds:
//
//   - clusters of several rows come first, the largest before the others, each
//     into the fold with the fewest rows so far;
//   - rows that are alone level the folds, cut in their order.
//
// Without repeats the folds are therefore equal parts of the rows in order: the
// caller shuffles them before, with [Clusters.Pick].
func (c Clusters) Folds(folds int) []int {
	folds = min(folds, c.Len())
	load := make([]int, folds)
	foldOf := make([]int, c.Len())
	alone := 0
	for _, k := range c.largestFirst() {
		if c.Size[k] == 1 {
			alone++
			continue
		}
		foldOf[k] = slices.Index(load, slices.Min(load))
		load[foldOf[k]] += c.Size[k]
	}
	cuts := level(load, alone)
	at, fold := 0, 0
	for k, size := range c.Size {
		if size == 1 {
			for at >= cuts[fold] {
				fold++
			}
			foldOf[k] = fold
			at++
		}
	}
	out := make([]int, len(c.Of))
	for n, k := range c.Of {
		out[n] = foldOf[k]
	}
	return out
}

func (c Clusters) largestFirst() []int {
	list := make([]int, c.Len())
	for k := range list {
		list[k] = k
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(c.Size[b], c.Size[a]) })
	return list
}

// Share takes whole clusters, in the order of their first rows, until they have
// at least the wanted number of rows. It skips clusters of more than largest
// rows and always leaves one cluster. If no cluster qualifies, it takes the
// smallest. It returns for every row whether it is taken. There must be at
// least two clusters.
func (c Clusters) Share(want, largest int) []bool {
	taken := make([]bool, c.Len())
	rows, clusters := 0, 0
	for k, size := range c.Size {
		if rows < want && size <= largest && clusters < c.Len()-1 {
			taken[k] = true
			rows += size
			clusters++
		}
	}
	if clusters == 0 {
		taken[slices.Index(c.Size, slices.Min(c.Size))] = true
	}
	out := make([]bool, len(c.Of))
	for n, k := range c.Of {
		out[n] = taken[k]
	}
	return out
}

// level distributes rows over folds that already hold some, filling the
// emptiest folds to a common height. It returns where the rows of each fold
// end.
func level(load []int, rows int) []int {
	sorted := slices.Sorted(slices.Values(load))
	height, folds := rows, 0 // the filled folds hold height rows in all
	for folds < len(sorted) && sorted[folds]*folds <= height {
		height += sorted[folds]
		folds++
	}
	cuts := make([]int, len(load))
	below, part := 0, 0 // rows in and number of the filled folds so far
	for f, l := range load {
		if l <= sorted[folds-1] {
			below += l
			part++
		}
		cuts[f] = part*height/folds - below
	}
	return cuts
}
