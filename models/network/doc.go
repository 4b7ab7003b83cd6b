// Package network represents a trained network: its weights, the standardisation of its inputs, and its forward pass as
// a graph and in Go. Policies and classifiers are made of networks; package models trains them.
package network
