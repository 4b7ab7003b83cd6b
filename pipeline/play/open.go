package play

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/policy"
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

// Match finds the facts of a cascade in a table. It is a *costs.DataError if they are not there, or if the table has other actions or
// features than the cascade was trained with. Fees may differ.
func Match(info *cascade.Info, t *costs.Tensor) ([]Column, error) {
	once := policy.Info{Actions: info.Actions, Dim: info.Dim} // the same rule as for policies that decide once
	if err := once.Matches(t); err != nil {
		return nil, &costs.DataError{Err: err}
	}
	return Columns(info, t.Facts)
}

// errFile adds the name of a cascade file to an error.
func errFile(at storage.Location, err error) error { return fmt.Errorf("cascade %q: %w", at, err) }
