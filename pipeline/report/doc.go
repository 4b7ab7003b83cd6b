// Package report is the report of an evaluation or a benchmark: its data, and the tables, figures and pages made from
// them. It renders results and computes none.
package report
