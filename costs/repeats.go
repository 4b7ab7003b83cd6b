package costs

import (
	"fmt"
)

// Repeats says how many rows of one split repeat others. Rows belong together where they are copies or their group is the
// same ([Tensor.Together]).
type Repeats struct {
	Split string `json:"split"`
	Rows  int    `json:"rows"`
	Sets  int    `json:"sets"` // sets of rows that belong together; equal to Rows if none repeats
	// Rows that are copies of a training row, or have the group of one; 0 for the training rows themselves.
	TrainingFeatures int   `json:"training_features"`
	TrainingGroup    int   `json:"training_group"`
	Ties             *Ties `json:"ties,omitempty"` // of rows with equal features, where losses told what they are
}

// RepeatsIn returns the repeats of the given splits, without splits that have none; apart is that of [Tensor.Together].
func RepeatsIn(t *Tensor, apart *bool, splits ...Split) []Repeats {
	var out []Repeats
	train := t.Rows(Train)
	for _, split := range splits {
		rows := t.Rows(split)
		r := Repeats{Split: split.String(), Rows: len(rows), Sets: t.Together(rows, apart).Len()}
		if split != Train {
			r.TrainingFeatures, r.TrainingGroup = t.Shared(rows, train, apart)
		}
		if x := t.Ties(rows); apart == nil && x.Distinct < x.Rows {
			r.Ties = &x
		}
		if r.Ties != nil || r.Sets < r.Rows || r.TrainingFeatures+r.TrainingGroup > 0 {
			out = append(out, r)
		}
	}
	return out
}

// notes describe repeated rows to the user.
func (r Repeats) notes() []string {
	var out []string
	if r.Ties != nil {
		out = append(out, r.Split+": "+r.Ties.Text()+".")
	}
	if r.Sets < r.Rows {
		out = append(out, fmt.Sprintf("%d of %d %s rows are copies of another row or have the group of one: they are %d sets of rows that belong together, and each counts as one draw.",
			r.Rows-r.Sets, r.Rows, r.Split, r.Sets))
	}
	seen := ""
	switch {
	case r.TrainingFeatures > 0 && r.TrainingGroup > 0:
		seen = fmt.Sprintf("%d of %d %s rows are copies of a training row, and %d have the group of one", r.TrainingFeatures, r.Rows, r.Split, r.TrainingGroup)
	case r.TrainingFeatures > 0:
		seen = fmt.Sprintf("%d of %d %s rows are copies of a training row", r.TrainingFeatures, r.Rows, r.Split)
	case r.TrainingGroup > 0:
		seen = fmt.Sprintf("%d of %d %s rows have the group of a training row", r.TrainingGroup, r.Rows, r.Split)
	default:
		return out
	}
	return append(out, seen+": figures on them flatter what was learned by heart.")
}

// RepeatNotes describe repeated rows to the user, one sentence each.
func RepeatNotes(repeats []Repeats) []string {
	var out []string
	for _, r := range repeats {
		out = append(out, r.notes()...)
	}
	return out
}
