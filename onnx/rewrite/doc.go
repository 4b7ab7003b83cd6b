// Package rewrite makes new models of finished ones: two merged into one, one
// split into two, the weights in float16, an output narrowed to chosen rows, an
// old operator set raised to a newer one. A model that is given stays as it is,
// and the result shares its constants wherever they do not change.
//
// It reads and checks models by package onnx, which builds and differentiates
// graphs and needs nothing from here.
package rewrite
