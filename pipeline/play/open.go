package play

import (
	"context"
	"errors"
	"io/fs"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/onnx/ort"
)

// Open opens the cascade file at a place. A file that is no usable cascade is a *costs.DataError: for the user it is an input like any
// other.
func Open(ctx context.Context, rt *ort.Runtime, at storage.Location) (*cascade.Decider, error) {
	local, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	d, err := cascade.Open(rt, local)
	var onDisk *fs.PathError
	if err == nil || errors.Is(err, ort.ErrNoRuntime) || errors.As(err, &onDisk) {
		return d, err
	}
	return nil, &costs.DataError{Err: err}
}
