// Package pipeline composes the layers below it into the stages a user runs: configuration, training and evaluation,
// the benchmarks, streaming decisions, explanations of files, reports and figures.
//
// Everything here can be called from a Go program; cmd/pipe only adds flags, a terminal and exit codes.
package pipeline
