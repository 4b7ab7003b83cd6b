// Package scaletest has the proofs of make scale: pipe-beam on a real Flink cluster, with S3 and a paid service that are local, and with
// what can go wrong there. They run in a network namespace of their own (tools/scale.sh), and are skipped elsewhere.
package scaletest
