// Package featurize turns raw inputs into float32 rows: decoded images, their views and pooled pixels, and texts and
// images encoded by ONNX models (TextEncoder, ImageEncoder). Tables of raw values are in package tabular.
//
// Everything here is a pure function of its input and safe for concurrent use.
package featurize
