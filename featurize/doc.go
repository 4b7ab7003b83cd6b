// Package featurize turns raw inputs into float32 rows: decoded images, their views and pooled pixels.
//
// Everything here is a pure function of its input and safe for concurrent use.
package featurize
