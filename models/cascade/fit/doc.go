// Package fit learns cascades by backward induction: the states in which most pairs were executed first.
//
// A state is a problem that is decided once, and is learned by the recipe of package auto from a table of its own. Its features are those
// of the row and what was seen of the executed pairs. The loss of an executed pair is that of its answer. The loss of
// another one is what the row really cost from there on, as the later states decided it by what other folds learned, and
// its fee is added as ever.
package fit
