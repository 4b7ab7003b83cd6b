// Package jpegturbo decodes JPEG files with libjpeg-turbo's TurboJPEG library,
// which it loads at run time. It is faster than Go's decoder and gives the same
// pixels as Pillow and OpenCV.
//
// Only this package manages that library's memory.
package jpegturbo
