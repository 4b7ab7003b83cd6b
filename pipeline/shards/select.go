package shards

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Select reads a list of shards such as 3 or 0-3,7, all from 0 to n-1, and returns them sorted, each once.
func Select(text string, n int) ([]int, error) {
	var list []int
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 0 || from > to {
			return nil, fmt.Errorf("shard %q: not a number, a range or a list of them, such as 0-3,7", text)
		}
		if to >= n {
			return nil, fmt.Errorf("shard %d: there are %d shards, numbered from 0 to %d", to, n, n-1)
		}
		for shard := from; shard <= to; shard++ {
			list = append(list, shard)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Ranges writes sorted shards as Select reads them, shortened if there are many ranges.
func Ranges(list []int) string {
	const most = 20
	var text []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		item := strconv.Itoa(list[i])
		if j > i {
			item += "-" + strconv.Itoa(list[j])
		}
		if text = append(text, item); len(text) == most && j+1 < len(list) {
			return strings.Join(text, ",") + fmt.Sprintf(" and %d more", len(list)-j-1)
		}
		i = j + 1
	}
	return strings.Join(text, ",")
}

// Cut returns the range of n units that an outer shard has, when they are dealt to shards as evenly as possible, in order.
func Cut(shard, shards, n int) (from, to int) {
	return int(int64(shard) * int64(n) / int64(shards)), int(int64(shard+1) * int64(n) / int64(shards))
}
