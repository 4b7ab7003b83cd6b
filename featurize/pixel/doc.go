// Package pixel turns the bytes of image files into the pixels that models see. Decode and the Decoders read files
// within Limits. Preprocess describes how an image is resized, cropped, scaled and laid out, and Prepared holds the
// resized image from which every View is cut. A Gate limits the pixels that are decoded concurrently.
//
// Everything except Gate is a pure function of its input and safe for concurrent use; goroutines share a Gate. The
// package does not need ONNX.
package pixel
