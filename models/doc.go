// Package models trains networks and measures their quality.
//
// A training step is one ONNX graph: gather a minibatch, forward, surrogate, gradients, clipping by global norm, AdamW.
// S models, each with its seed, lambda, learning rate, decay, tau, mask and rows, advance in lockstep along a leading
// axis of every tensor. The steps of one call are the iterations of an ONNX Loop, so parameters stay inside the
// runtime. See [Train].
//
// Inside the graph activations are feature-major, [S, width, batch]: biases and row-wise reductions then work on long
// contiguous runs, which is where small networks spend their time.
//
// A [Method] is one way to learn a policy, and a [Surrogate] its training loss; both can come from another module. Two
// recipes train policies: paper, with fixed settings, and auto, which chooses its own. The other packages below are
// network (weights), policy (the file, and the decider that runs it), baseline and lightgbm.
package models
