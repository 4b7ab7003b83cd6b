// Package lightgbm trains boosted trees with LightGBM's C library, which it
// loads at run time, reads the trained model's text, and writes it as an ONNX
// file. Only that file predicts in the product: LightGBM's own predictions and
// the Go reference are there to hold it against.
//
// The package is the only owner of LightGBM's memory and threads.
package lightgbm
