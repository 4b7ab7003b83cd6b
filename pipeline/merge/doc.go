// Package merge is the stage merge: cost tensors of the same actions become one. Use it to add rows of other tensors; rows of a
// table are added by package imports.
package merge
