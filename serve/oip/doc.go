// Package oip serves policies by the Open Inference Protocol, version 2, over REST and gRPC. The inputs and outputs of a
// policy file are tensors by name, including the prices and masks of an any-price policy. Use it for clients of Triton,
// KServe and MLServer, which may use the binary tensors of Triton. docs/oip.md lists what is served.
package oip
