// Package onnxpb is the Go form of the ONNX file format, generated from the onnx-ml.proto of the Python package onnx
// 1.23.2 (Apache-2.0). Nothing here is written by hand; see tools/genproto.sh.
package onnxpb

//go:generate ../../tools/genproto.sh
