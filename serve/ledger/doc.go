// Package ledger keeps how much of a daily allowance was spent, such as the expected extra cost of exploration. What may be
// spent is written to a file first, in blocks, so that a kill at any moment never lets the same amount be spent twice.
package ledger
