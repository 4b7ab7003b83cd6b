// Package decisionlog keeps what a service decided and how it went: a folder of segments that survives a kill.
//
// A [Writer] appends records of decisions and outcomes to the open segments, which are lines of JSON with a checksum
// each. A segment that is large or old enough is rewritten as Parquet, in one atomic step. [Read] iterates over the
// records of both forms, joined with their outcomes. docs/log.md describes the files and what is guaranteed.
//
// A record states the exact probability of every pair, so that another policy can be valued on the log. A record whose
// probabilities contradict its choice is refused.
package decisionlog
