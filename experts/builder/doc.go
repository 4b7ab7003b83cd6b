// Package builder makes a cost tensor. It asks every expert of a configuration under every advice about every instance,
// computes the losses, and writes each shard when it is done, so that an interrupted or killed run can be resumed.
//
// It depends on no kind of source, advice, expert or feature. Options.Kinds has the kinds that a configuration may
// name, and package part their contracts.
package builder
