// Package featurize encodes texts and images by ONNX models: TextEncoder and ImageEncoder give one vector of float32 for
// each. ReadTextModel and ReadImageModel read models from folders as Hugging Face keeps them and from .onnx files, and
// write them as one file. Tables of raw values are in package tabular, what happens to images before a model sees them in
// package pixel.
//
// Encoders are pure functions of their input and safe for concurrent use.
package featurize
