// Package outcome makes cost tensors from existing outcome logs: tables that say how well each expert did under each
// advice, in long or wide form, as CSV, JSON lines or Parquet, joined with tables of features by id.
//
// Config says which columns mean what; Import reads the tables, checks them, and reports what was read and left out. A
// missing outcome or feature never becomes a number: it is an error, or its instance is left out and counted.
package outcome
