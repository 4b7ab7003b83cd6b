// Package jpegturbo decodes JPEG files with libjpeg-turbo's TurboJPEG library,
// which it loads at run time: faster than Go's decoder, and the pixels that
// Pillow and OpenCV see.
//
// The package is the only owner of that library's memory.
package jpegturbo
