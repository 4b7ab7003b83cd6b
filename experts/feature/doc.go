// Package feature has the kinds of features that a configuration of costs may name: the numbers of an instance that a
// policy sees.
//
// A kind is a file with its settings and its constructor, and a line in Kinds. Features come from the instances
// (columns, groups, pooled), from a separate file (file), from an expert's answers (expert), or from an encoder (text,
// image). Package experts/embedding keeps the vectors of texts; costs/identity names and identifies encoders and column
// groups.
package feature
