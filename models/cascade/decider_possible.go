package cascade

import (
	"cmp"
	"errors"
	"slices"

	"pipe/models/policy"
)

// Possible is the action on a row of n pairs where only some can be taken: Action if it can, and else the one with the smallest cost of
// those that exist. free is whether it is Action. The pair is -1 if none can be taken. The costs assume that all pairs can be executed later.
func (d *Decisions) Possible(row, n int, can func(pair int) bool) (pair int, free bool) {
	cost := d.Cost[row*n : (row+1)*n]
	exists := func(i int) bool { return cost[i] <= noneAbove && can(i) }
	if at := int(d.Action[row]); exists(at) {
		return at, true
	}
	pair = -1
	for i, c := range cost {
		if exists(i) && (pair < 0 || c < cost[pair]) {
			pair = i
		}
	}
	return pair, false
}

// masked are decisions without the pairs that are not available on a row and were not executed.
func (d *Decider) masked(at []*policy.Prices, rows Rows, out Decisions) (Decisions, error) {
	pairs := len(d.mask)
	for n := range rows.N {
		executed, available := rows.Executed[n*pairs:(n+1)*pairs], priceOf(at, n).Available
		can := func(i int) bool { return executed[i] || available[i] }
		pair, free := out.Possible(n, pairs, can)
		if pair < 0 {
			return out, &policy.RowError{Row: n, Err: errors.New("no pair may be executed")}
		}
		cost := out.Cost[n*pairs : (n+1)*pairs]
		if !free {
			out.Action[n], out.Accept[n], out.Remaining[n] = int64(pair), executed[pair], cost[pair]
			if executed[pair] {
				out.Loss[n] = cost[pair]
			}
		}
		for i := range cost {
			if !can(i) {
				cost[i] = none
			}
		}
	}
	return out, nil
}

// Ranked are all actions that can be taken on a row of n pairs: that of [Decisions.Possible] first, then the others by their cost.
func (d *Decisions) Ranked(row, n int, can func(pair int) bool) (order []int) {
	first, _ := d.Possible(row, n, can)
	cost := d.Cost[row*n : (row+1)*n]
	for i, c := range cost {
		if i == first || c <= noneAbove && can(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch first {
		case a:
			return -1
		case b:
			return 1
		}
		return cmp.Compare(cost[a], cost[b])
	})
	return order
}
