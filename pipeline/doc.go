// Package pipeline has the stages that a user runs: building and importing costs, featurizing tables, indexing pages,
// training, evaluation, and converting encoders. A stage reads files and writes files; long stages resume after an
// interruption.
//
// A Go program can call every stage; cmd/pipe only adds flags, a terminal and exit codes. Programs that only make
// decisions import pipeline/decide instead, which links neither the builder of costs nor training.
package pipeline
