package costs

// unknownHint says what an unknown outcome is and what to do about it.
const unknownHint = "the outcome is unknown, and this step needs all outcomes; leave the row out, or declare the pair unavailable " +
	"(docs/cost-tensor.md#unknown-outcomes lists the steps that can use it)"

// UnknownCells returns the number of unknown outcomes: losses that are NaN
// although the pair is available.
func (t *Tensor) UnknownCells() int {
	mask, n := t.Actions.Mask(), 0
	for i, v := range t.Loss {
		if v != v && mask[i%len(mask)] {
			n++
		}
	}
	return n
}

// KnownRows returns, for every pair, how many of the rows have its outcome; 0
// for an unavailable pair.
func (t *Tensor) KnownRows(rows []int) []int {
	known := make([]int, t.Actions.Len())
	for _, n := range rows {
		for i, v := range t.Losses(n) {
			if v == v {
				known[i]++
			}
		}
	}
	return known
}

// CompleteRows returns those of the rows on which every available pair has an
// outcome, in their order. It is never nil.
func (t *Tensor) CompleteRows(rows []int) []int {
	mask, complete := t.Actions.Mask(), make([]int, 0, len(rows))
	for _, n := range rows {
		if t.complete(n, mask) {
			complete = append(complete, n)
		}
	}
	return complete
}

func (t *Tensor) complete(n int, mask []bool) bool {
	for i, v := range t.Losses(n) {
		if v != v && mask[i] {
			return false
		}
	}
	return true
}

// checkCells checks values of a row against each other.
func (t *Tensor) checkCells() error {
	if err := t.checkKnownFees(); err != nil {
		return err
	}
	if err := t.Usage.checkCached(t.Actions.Len()); err != nil {
		return err
	}
	return t.checkPropensities()
}

// checkKnownFees refuses a fee that is NaN beside a loss that is known.
func (t *Tensor) checkKnownFees() error {
	if t.Fee == nil {
		return nil
	}
	mask := t.Actions.Mask()
	for i, v := range t.Fee {
		if v != v && t.Loss[i] == t.Loss[i] && mask[i%len(mask)] {
			return cellError("fee", i, len(mask), "is unknown, but the loss of the pair is known")
		}
	}
	return nil
}
