// Package fromlog makes tables of a decision log: cost tensors of the instances on which every pair was recorded, partial
// ones of the rest, and the forms that other programs for off-policy evaluation read.
package fromlog
