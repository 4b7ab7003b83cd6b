// Package bench has the five benchmarks: synthetic, fraud, fever, imagenet and tables. Each is a configuration, a trial per
// setting (costs, policies, evaluation), a loop over draws of the split, and a report on all of them. The trials of tables
// are methods on given costs.
//
// It runs the stages of package pipeline and uses internal/world for generated data and pipeline/report.
package bench
