// Package policies holds the policies that a server decides with. It finds, checks and opens their files, replaces them
// while requests run, and batches the requests of concurrent callers. Use it in a program with its own protocol that must
// pick up new policy files without a restart; for a single policy that does not change, pipe/pipeline/decide is simpler.
//
// A [Set] has one [Policy] for each name, which is the name of its file without .onnx. [Set.Acquire] leases the current
// version of a policy and [Policy.Release] returns it. A version that was replaced is closed when its last lease ends, so
// no request fails because of a reload. [Set.Close] waits for all leases.
//
// Encoders and policies have a queue each. While a worker is idle, a request runs at once, on the goroutine of its caller.
// While all workers are busy, requests wait, and the first worker that finishes takes those that can run as one batch.
// On a CPU, the answer to a request has the same bits whichever batch it is in.
//
// Every run uses one thread, because several one-thread runs use the cores better than one run on several threads. For a
// MiniLM on texts of 30 tokens, and for a policy on 384 features, a run on two threads takes 6 to 19% more processor time
// than a run on one (go test ./serve/policies -run '^$' -bench Threads). A batch of eight such texts takes 20% less
// processor time than eight single runs; a batch of 32 saves no more than that, which is why Settings.BatchTokens is 256.
// Texts of different lengths gain nothing from a common batch.
package policies
