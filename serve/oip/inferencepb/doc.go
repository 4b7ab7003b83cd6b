// Package inferencepb is the Go form of the gRPC service of the Open Inference Protocol. inference.proto states it;
// the other files are generated from it by tools/genproto.sh.
package inferencepb

//go:generate ../../../tools/genproto.sh
