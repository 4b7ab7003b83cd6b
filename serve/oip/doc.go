// Package oip serves policies by the Open Inference Protocol, version 2, over REST and gRPC: whatever a policy file takes
// and gives are tensors by name, also the prices and masks of an any-price policy. Clients of Triton, KServe and MLServer
// talk to it. The binary tensors of Triton's REST calls are part of it.
package oip
