// Package grow makes larger cost tensors of existing ones, and compares two.
//
// [Merge] joins tensors row by row (the same actions, other instances) or side
// by side (the same instances, other pairs). [Diff] lists what differs between
// two tensors. Both stream: memory holds the ids of the rows, and one batch of
// each file. Only where two files have their rows in another order, one of them
// is read whole.
package grow
