// Package cascade has the cascade file and its decider: policies that look at an answer, and then accept it or execute
// another pair.
//
// A state is the set of pairs that were executed on a row, with what was seen of their answers. In every state the
// actions are the pairs of the tensor: to choose a pair that was executed is to accept its answer, which costs nothing
// more; to choose another one is to execute it next. A file has a policy for each state that it knows, of which the
// first is the empty one. In any other state the best of the answers at hand is accepted.
package cascade
