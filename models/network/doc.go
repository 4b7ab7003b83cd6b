// Package network is a trained network as numbers: its weights, the
// standardisation of its inputs, its graph, and the same in Go. Policies and
// classifiers are made of it; how weights are found is the business of models.
package network
