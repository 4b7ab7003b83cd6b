package costs

import "math"

// UnevenSplit is a split that a draw gave more or fewer rows than its share.
type UnevenSplit struct {
	Split string  `json:"split"`
	Rows  int     `json:"rows"`
	Share float64 `json:"share"` // that was asked for, of all rows
}

// Uneven returns the held-out splits of a draw whose rows differ from their
// share by at least one row and more than a fifth of the share. Hashes of few
// groups do that, and large groups do under every kind.
func (d SplitDraw) Uneven(splits []Split) (uneven []UnevenSplit) {
	var rows [3]int
	for _, s := range splits {
		rows[s]++
	}
	for s, share := range [...]float64{Val: d.Validation, Test: d.Test} {
		want := share * float64(len(splits))
		if off := math.Abs(float64(rows[s]) - want); Split(s) != Train && off >= 1 && off > want/5 {
			uneven = append(uneven, UnevenSplit{Split(s).String(), rows[s], share})
		}
	}
	return uneven
}
