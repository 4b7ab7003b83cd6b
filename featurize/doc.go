// Package featurize turns raw inputs into float32 rows: decoded images, their views and pooled pixels; tables of numbers
// and categories, read from CSV and encoded by what their training rows taught (TabularEncoder); texts, encoded by language
// models (TextEncoder).
//
// Everything here is a pure function of its input and safe for concurrent use.
package featurize
