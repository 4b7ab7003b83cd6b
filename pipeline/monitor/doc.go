// Package monitor watches a deployed policy: whether its inputs, its decisions and its outcomes still are those of a
// baseline, which is the held-out part of a cost tensor.
//
// [Open] returns a [Monitor] for services: rows are added as they come, [Monitor.Status] says what was found, and the state
// can be saved and restored. [Run] reads a file of new rows, and is what pipe monitor runs; both have the same core.
//
// A program that imports this package links neither the builder of costs, nor training, nor plots.
package monitor
