// Package policies holds the policies that a server decides with: it finds and checks their files, opens them, replaces
// them while requests run, and runs the requests of many callers together.
//
// A [Set] has one [Policy] for each name, which is the name of its file without .onnx. [Set.Acquire] leases the current
// version of a policy; a version that was replaced is closed when its last lease ends, so that no request fails because of
// a reload.
//
// Runs of encoders and policies go through a queue each. While a worker is idle, a request runs at once, on the goroutine
// of its caller. While all are busy, requests wait, and the first worker that ends takes those that can run together.
// Answers have the same bits whichever requests ran together.
package policies
