// Package pipeline has the stages that a user runs: building and importing costs, featurizing tables, indexing pages,
// training, evaluation, and converting encoders. A stage reads files and leaves files; those that take long go on where
// they were stopped.
//
// A Go program can call every stage; cmd/pipe only adds flags, a terminal and exit codes. Programs that only decide
// import pipeline/decide instead, which links neither the builder of costs nor training.
package pipeline
