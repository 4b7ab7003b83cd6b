// Package exitcode says with which exit code a program ends after an error.
package exitcode

import (
	"errors"
	"io/fs"
	"syscall"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/retrieval/bm25"
	"pipe/experts/service"
	"pipe/featurize/jpegturbo"
	"pipe/featurize/tokenizer"
	"pipe/internal/config"
	"pipe/internal/outside"
	"pipe/internal/textfile"
	"pipe/models/lightgbm"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// The exit codes.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2
	BadData     = 3
	NoRuntime   = 4
	Alarm       = 5
	Stays       = 6 // the deployed policy stays: a learned one is not better, or a gate does not know yet
	Interrupted = 130
)

// codes maps errors to exit codes; the first match counts.
var codes = []struct {
	code    int
	matches func(error) bool
}{
	{Usage, is[*stage.UnknownError]},
	{Usage, is[*stage.OptionError]},
	{Usage, is[*builder.TooManyError]},
	{Failure, is[*chat.BudgetError]}, // at any point of a build
	{Failure, is[*service.Error]},
	{Failure, NoRoom}, // at any point of a build
	{NoRuntime, is[*ort.MissingLibraryError]},
	{NoRuntime, is[*ort.LoadError]},
	{NoRuntime, is[*ort.VersionError]},
	{NoRuntime, is[*ort.DeviceError]},
	{NoRuntime, is[*hf.MissingModelError]},
	{NoRuntime, is[*lightgbm.MissingLibraryError]},
	{NoRuntime, is[*lightgbm.LoadError]},
	{NoRuntime, is[*jpegturbo.MissingLibraryError]},
	{NoRuntime, is[*jpegturbo.LoadError]},
	{BadData, is[*costs.DataError]},
	{BadData, is[*outside.PanicError]},
	{BadData, is[*textfile.Error]},
	{BadData, is[*tokenizer.UnsupportedError]},
	{BadData, is[*tokenizer.FormatError]},
	{BadData, is[*config.Error]},
	{BadData, is[*part.BadImagesError]},
	{BadData, is[*builder.PartError]},
	{BadData, is[*bm25.IndexError]},
	{BadData, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	{BadData, func(err error) bool { return errors.Is(err, syscall.EISDIR) }}, // a folder where a file is to be read
}

// Of returns the exit code of an error of a stage. known is false if nothing is known about the error, whose code is then Failure.
func Of(err error) (code int, known bool) {
	for _, c := range codes {
		if c.matches(err) {
			return c.code, true
		}
	}
	return Failure, false
}

// NoRoom reports whether the disk was full, or a file could not grow for another reason.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
