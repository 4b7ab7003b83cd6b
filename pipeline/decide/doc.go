// Package decide makes decisions with a policy file: which expert answers a request, and with which advice.
//
// [Open] returns a [Router] that decides in memory, on features, raw columns, texts or images. It is meant for
// services: safe for concurrent use, one thread per call. [Stream] decides on a file of any size, and is what pipe
// decide runs; both have the same core.
//
// A program that imports this package links neither the builder of costs, nor training, nor plots.
package decide
