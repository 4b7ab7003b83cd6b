// Package oip serves policies by the Open Inference Protocol, version 2, over REST and gRPC. The inputs and outputs of a
// policy file are tensors by name, including the prices and masks of an any-price policy. Use it for clients of Triton,
// KServe and MLServer; the binary tensors of Triton's REST calls are supported. What cannot be served is in docs/oip.md.
package oip
