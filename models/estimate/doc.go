// Package estimate holds trained estimates of what every pair of an expert and an advice will cost: each as an ONNX
// graph, and the same in Go. Estimates do not contain fees, so one of them serves every price.
//
// A policy is made of them (models/policy); models/regress fits them.
package estimate
