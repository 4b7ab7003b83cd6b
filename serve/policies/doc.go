// Package policies holds the policies that a server decides with: it finds and checks their files, opens them, replaces
// them while requests run, and runs the requests of many callers together.
//
// A [Set] has one [Policy] for each name, which is the name of its file without .onnx. [Set.Acquire] leases the current
// version of a policy; a version that was replaced is closed when its last lease ends, so that no request fails because of
// a reload.
//
// Runs of encoders and policies go through a queue each. While a worker is idle, a request runs at once, on the goroutine
// of its caller. While all are busy, requests wait, and the first worker that ends takes those that can run together.
// On a CPU, answers have the same bits whichever requests ran together.
//
// A run has one thread. For a MiniLM on texts of 30 tokens, a run on two threads takes 6 to 19% more processor time than
// one on one thread, and for a policy on 384 features the same; one-thread runs beside each other use the cores better
// (go test ./serve/policies -run '^$' -bench Threads). On a CPU, eight such texts in one run take 20% less processor time
// than one by one, and 32 take no less than eight; so Settings.BatchTokens is 256. Texts of different lengths gain nothing
// from running together.
package policies
