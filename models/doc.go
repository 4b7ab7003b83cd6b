// Package models trains networks and measures what they are worth.
//
// A training step is one ONNX graph: gather a minibatch, forward, surrogate,
// gradients, clipping by global norm, AdamW. S models with their own seed,
// lambda, learning rate, decay, tau, mask and rows advance in lockstep along a
// leading axis of every tensor; the steps of one call are the iterations of an
// ONNX Loop, so parameters stay inside the runtime. See [Train].
//
// Inside the graph activations are feature-major, [S, width, batch]: biases
// and row-wise reductions then touch long contiguous runs, which is where small
// networks spend their time.
//
// A [Method] is one way to learn a policy, and a [Surrogate] its training loss; both
// can come from another module. Two recipes train policies by them: paper, with
// fixed settings, and auto, which chooses its own. The other packages below are
// network (weights), policy (the file, and the decider that runs it), baseline and
// lightgbm.
package models
