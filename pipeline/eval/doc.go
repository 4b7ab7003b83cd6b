// Package eval is the stage eval: it ranks policies and baselines by true loss on one split of a cost tensor. Policies are files,
// in memory, or only their decisions.
package eval
