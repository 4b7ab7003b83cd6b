// Package outcome makes cost tensors from existing outcome logs: tables with the result of each expert under each
// advice, in long or wide form, as CSV, JSON lines or Parquet, joined with tables of features by id.
//
// Config gives the meaning of the columns. Import reads and checks the tables, and reports what was read and skipped. A
// missing outcome or feature never becomes a number: it is an error, or its instance is left out and counted.
package outcome
