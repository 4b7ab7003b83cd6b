// Package report is the report of an evaluation or a benchmark: its data, and the tables, figures and pages that are
// made of them. It shows what others have computed.
package report
