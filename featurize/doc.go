// Package featurize encodes texts and images by ONNX models: TextEncoder and ImageEncoder give one vector of float32
// for each. ReadTextModel and ReadImageModel read models from .onnx files and from folders in Hugging Face's format,
// and can write them as one file. Package tabular handles tables of raw values, package pixel the preprocessing of
// images.
//
// Encoders are pure functions of their input and safe for concurrent use.
package featurize
