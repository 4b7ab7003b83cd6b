// Package grade judges open answers: texts that are not one of a list of labels. A grader compares an answer with one or
// several references and gives a score from 0 to 1. The loss of an answer is 1 - score.
//
// A kind is a file with its settings and its constructor, and a line in kinds.go. The package imports no part of the
// builder, so that recorded answers are graded by the same code. A kind that needs a model gets it through Models.
package grade
