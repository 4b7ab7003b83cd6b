package eval

import (
	"fmt"

	"pipe/costs"
	"pipe/internal/hint"
)

// onlyComplete returns the tensor without rows that have unknown outcomes, and a note about those left out of a split and
// of the training rows. A tensor that has none is returned as it is.
func onlyComplete(t *costs.Tensor, split costs.Split) (*costs.Tensor, string, error) {
	if t.UnknownCells() == 0 {
		return t, "", nil
	}
	all := make([]int, t.Len())
	for n := range all {
		all[n] = n
	}
	rows, train := t.Rows(split), t.Rows(costs.Train)
	kept := len(t.CompleteRows(rows))
	if len(rows) > 0 && kept == 0 {
		err := &costs.DataError{Column: "loss", Msg: fmt.Sprintf("every one of the %d %s rows has an unknown outcome; policies are compared on rows with the outcomes of all pairs", len(rows), split)}
		return nil, "", hint.With(err, "where each request was answered by one pair, pipe ope says what a policy would have cost")
	}
	note := fmt.Sprintf("%d of %d %s rows are left out, because an outcome of theirs is unknown", len(rows)-kept, len(rows), split)
	if split != costs.Train {
		note += fmt.Sprintf("; so are %d of %d training rows, from which knn learns", len(train)-len(t.CompleteRows(train)), len(train))
	}
	return t.Subset(t.CompleteRows(all)), note + ".", nil
}
