// Package bench has the four benchmarks: synthetic, fraud, fever and imagenet. Each is a configuration, a trial per
// setting (costs, policies, evaluation), a loop over draws of the split, and a report on all of them.
//
// It runs the stages of package pipeline and uses pipeline/world for generated data and pipeline/report.
package bench
