package cascade

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
