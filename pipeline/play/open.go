package play

import (
	"context"

	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
)

// Open opens the cascade file at a place. A file that is no usable cascade is a *costs.DataError: for the user it is an input like any
// other.
func Open(ctx context.Context, rt *ort.Runtime, at storage.Location) (*cascade.Decider, error) {
	f, err := decide.ReadCascade(ctx, at)
	if err != nil {
		return nil, err
	}
	return f.Open(rt)
}
