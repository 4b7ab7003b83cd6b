// Package tabular reads tables of raw values and turns their rows into float32 features. Load reads CSV files into a
// Frame by a Schema; Fit learns an Encoder from the training rows; WriteTable keeps the values as Parquet and OpenTable
// reads them back.
//
// An Encoder is a pure function of its input and safe for concurrent use.
package tabular
