// Package monitor watches a deployed policy. It tests whether inputs, decisions and outcomes still have the distributions
// of a baseline, which is the held-out part of a cost tensor.
//
// [Open] returns a [Monitor] for services: they add rows as they arrive, [Monitor.Status] returns the findings, and the
// state can be saved and restored. [Run] does the same for a file of new rows; the command pipe monitor calls it.
//
// A program that imports this package links neither the builder of costs, nor training, nor plots.
package monitor
