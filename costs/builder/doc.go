// Package builder makes a cost tensor: it asks every expert of a configuration under every advice about every instance,
// computes the losses, and writes shards as they are done, so that a run that was stopped, by whatever means, goes on
// where it was.
//
// It knows no kind of source, advice, expert or feature. Options.Kinds has those that a configuration may name, and
// package part their contracts.
package builder
