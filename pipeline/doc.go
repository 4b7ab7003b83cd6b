// Package pipeline has the stages that a user runs, each in a package of its own: costing, imports, merge, index, features, train,
// eval and convert. A stage has Options, and Run, which reads files and writes files; long stages resume after an interruption.
// This package has no code, only tests and examples of several stages together.
//
// A Go program can call every stage; cmd/pipe only adds flags, a terminal and exit codes. Programs that only make
// decisions import pipeline/decide instead, which links neither the builder of costs nor training.
package pipeline
