// Package pixel turns the bytes of image files into the pixels that models see. Decode and the Decoders read files within
// Limits; Preprocess says how an image is resized, cropped, scaled and laid out, and Prepared holds the resized image
// from which every View is cut. A Gate bounds the pixels that are decoded at a time.
//
// All but Gate is a pure function of its input and safe for concurrent use; a Gate is shared by goroutines. No ONNX is
// needed.
package pixel
